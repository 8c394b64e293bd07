// Package catalog maps dataset names to immutable generations.
//
// # Purpose
//
// A dataset is what clients name; a generation is what they read. Every committed put makes a new generation: a
// schema, a list of stored batches and the totals that planners ask for. The catalogue publishes a generation in one
// step, hands it out counted, and lets go of its batches when the last reader has.
//
// # Invariants
//
//   - A [Generation] never changes once it has been published, and its id is never used twice: it is a random instance
//     id and a counter.
//   - A generation's totals are those of its batches; they are added up at commit, so that reading them costs the same
//     for one batch and for ten thousand.
//   - Generations share batches: an append makes a new list, not new bytes. A batch is retained once by each generation
//     that lists it.
//   - What was acquired is released once. A generation whose last reference is gone has released its batches.
//
// # Concurrency
//
// A [Catalog] is safe for concurrent use. Its one lock is never held while a batch is released, and nothing that can
// block happens under it.
//
// # What it is not
//
// It neither holds nor reads payload bytes: a [Batch] is whatever the store put there, seen by its counts. It knows no
// Flight, no tickets and no permissions.
package catalog
