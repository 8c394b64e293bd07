// Package plan decides what a read will send, from metadata alone.
//
// # Purpose
//
// GetFlightInfo, GetSchema, ListFlights and DoGet all ask the same questions of a read command and a generation: which
// columns, in which schema, how many rows, how many bytes. They are answered here, once, so that what GetFlightInfo
// counted is what its tickets deliver.
//
// # Invariants
//
//   - Nothing here can reach a payload: the package does not import the store.
//   - A [Read] costs the same for one batch and for ten thousand: totals were added up when the generation was
//     committed.
//   - One function makes the schema of GetSchema, of FlightInfo and of the stream.
//
// # Concurrency
//
// A [Read] is immutable. Whoever made it keeps the generation acquired for as long as it is used.
//
// # What it is not
//
// It sends nothing, seals no tickets and knows no gRPC.
package plan
