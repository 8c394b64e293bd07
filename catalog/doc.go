// Package catalog maps dataset names to immutable generations.
//
// # Purpose
//
// A dataset is what clients name; a generation is what they read. Every committed put makes a new generation: a
// schema, a list of stored batches and the totals that planners ask for. The catalogue publishes a generation in one
// step, hands it out counted, and lets go of its batches when the last reader has. It also keeps what ends by itself: a
// [Lease] holds a generation for a time, a [Transaction] gathers puts until they are published together, and a dataset may
// have a time after which it is dropped. The ids of puts that were committed make it harmless to send one again. What is
// durable goes through a [Keeper], which has it after a crash.
//
// # Invariants
//
//   - A [Generation] never changes once it has been published, and its id is never used twice: it is a random instance
//     id and a counter. A compaction publishes another layout of it, under the same id: the same rows in other batches.
//     Who holds a layout goes on with it. To recode is the same where batches differ in bytes only; then leases go over too.
//   - A generation's totals are those of its batches; they are added up at commit, so that reading them costs the same
//     for one batch and for ten thousand.
//   - Generations share batches: an append makes a new list, not new bytes. A batch is retained once by each generation
//     that lists it.
//   - What was acquired is released once. A generation whose last reference is gone has released its batches.
//   - What has a time ends when the clock says so. Its memory is given back by one timer that all of it shares, which may be
//     a little late: who looks something up compares its time first.
//   - Eviction takes whole datasets, and none that is pinned, leased or durable.
//   - A durable generation is kept before it is published, and forgotten before it goes: what a caller was told of is kept.
//     What a Keeper failed at has changed nothing.
//   - A lease is good for the generation that it was taken on, and ends alone.
//   - A transaction ends once, by a commit, an abort or its time. What a commit does not keep is released.
//
// # Concurrency
//
// A [Catalog] is safe for concurrent use, and so is a [Transaction]. No lock is held while a batch is released, and nothing
// that can block happens under one. They are taken in the order transaction, datasets, leases, deadlines; that of
// the order of use, and the [Ledger]'s, are taken last.
//
// While a Keeper is at work on a dataset, its name is reserved: commits, drops and pins of that dataset wait, with the context
// of their callers, eviction and expiry pass it over, readers see what was there before. So does a transaction while its
// commit is under way, and the claim of a put's id while the put of the same id is. The catalogue has no goroutines but
// those that forget a durable dataset whose time is over.
//
// # What it is not
//
// It neither holds nor reads payload bytes: a [Batch] is whatever the store put there, seen by its counts. It knows no
// Flight, no tickets and no permissions.
package catalog
