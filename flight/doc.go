// Package flight answers the RPCs of Arrow Flight: it is the service.
//
// # Purpose
//
// Each RPC has a file. A put's batches go from the transport's buffers into the store with one copy; a get's stored
// byte ranges go from the store to the transport with none. What a read will send is decided by flight/plan from
// metadata alone; this package carries it out. [Durable] makes one thing of the store's files and the journal, which do not
// know each other: datasets that outlive the process.
//
// # Invariants
//
//   - The two hot messages, FlightData in and out, pass through this package's own codec ([Codec]); every other message
//     through gRPC's.
//   - Memory handed to the transport is held until the transport has let go of it, a killed connection included, and
//     is released once (see lease.go). That lease is a stream's; the one that a ticket names is the catalogue's, and keeps
//     what was counted readable (see renew.go).
//   - Nothing of a put is visible before its commit, and all that it took is given back when it fails.
//   - Every error has one gRPC code, by the table in status.go. No input ends the process: handlers recover.
//   - A durable generation has its batches and its record on the disk before it is published, and a start that fails removes
//     nothing.
//   - A client that stands still keeps a call no longer than [Bounds] say, and more than they say of anything no client has.
//   - No lock is held across Send, Recv or the disk's work.
//
// # Concurrency
//
// A [Server] serves any number of calls at once. What belongs to one call is not shared.
//
// # What it is not
//
// It does not store, encode or interpret batches (batchstore), does not know names and generations (catalog), and does
// not parse commands (descriptors). Listening, signals and options of the command line are cmd/flightcache's.
package flight
