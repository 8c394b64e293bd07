// Command arrowgo is a peer of the benchmark: what a Go developer gets from arrow-go's stock record reader and writer.
//
// It keeps plain record batches in memory, one list for each path, and answers DoPut, DoGet and GetFlightInfo. A ticket
// is the JSON object {"dataset", "columns"}. It checks little and limits nothing: it is a yardstick, not a service. It
// prints its address on one line when it serves.
package main
