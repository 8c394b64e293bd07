// Package journal keeps the durable catalogue: for each durable dataset the record of its newest generation, and the ids of
// the puts that were committed durably, in one file.
//
// # Purpose
//
// A change is on the disk when its call returns. Changes that come while another is being written are written together after
// it, so that many small puts share the disk's work. The file is bbolt's, a B+tree in pages that are never overwritten
// while they count, so that a crash leaves the state before a change or the one after it.
//
// # Invariants
//
//   - What was told as done is there after a crash. What was told as failed is not, unless the error is [ErrDoubt].
//   - bbolt maps its file into memory and believes its pages: a damaged one can make it loop, panic or fault. So the
//     pages are checked before bbolt sees them, by reading; and a fault or panic later is an error, after which the journal
//     only fails.
//   - Records have a version and a checksum, and all of them together a digest, so that one that is missing is noticed too.
//     Damage is [ErrDamaged] and names the file; nothing is left out in silence.
//   - A deletion has room even if the disk is full: the file beside the catalogue, of which nothing but its size matters, gives
//     way to it.
//
// # Concurrency
//
// A [Journal] is safe for concurrent use and has no goroutines: of those that wait, one writes for all. Its lock is not held
// while it does.
//
// # What it is not
//
// It knows bytes and plain structs: no schemas, batches or orders, no files but its own. It keeps nothing in memory; who
// opens it loads it once.
package journal
