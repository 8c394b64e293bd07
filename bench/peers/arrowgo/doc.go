// Command arrowgo is a peer of the benchmark: what a Go developer gets from arrow-go's stock record reader and writer.
//
// It keeps plain record batches in memory, one list for each name, and answers DoPut, DoGet, GetFlightInfo and
// ListFlights. A put by path replaces, one with the JSON command {"dataset", "mode": "append"} appends. A ticket is the
// JSON object {"dataset", "columns"}. It checks little and limits nothing: it is a yardstick, not a service. It
// prints its address on one line when it serves.
package main
