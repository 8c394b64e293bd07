// Package flightcache is the root of the module: it holds no code, only the tests of what no single package can hold.
//
// # Purpose
//
// flightcache keeps named tables ("datasets") of Arrow record batches and serves them over Arrow Flight. The program is
// cmd/flightcache; README.md says how to use it, ARCHITECTURE.md how it is built, FORMAT.md every byte that it keeps and
// sends. The parts:
//
//   - arrowipc: metadata of Arrow IPC messages.
//   - compress: codecs for single buffers.
//   - batchstore, batchstore/arena: batches in the form of the wire, and the memory they lie in.
//   - catalog, catalog/journal: dataset names and their immutable generations, and the file that has those that are durable.
//   - statistics, predicate: what is measured of columns, and what filters make of it.
//   - descriptors: the grammar of descriptors, commands and tickets.
//   - flight, flight/plan: the RPCs, and what a read will send.
//   - integration, bench: the built program from outside.
//
// # Invariants
//
// The tests here hold three: the imports between the parts are those of ARCHITECTURE.md, every package and every exported
// name is documented, and FORMAT.md shows the bytes that the program makes.
//
// # Concurrency
//
// There is nothing here to share. Each package says what may be shared of it.
//
// # What it is not
//
// It is no library for other modules: the packages below it serve the program, and change with it.
package flightcache
