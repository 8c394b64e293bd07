// Package batchstore keeps record batches as they will be sent: stored bytes are wire bytes.
//
// # Purpose
//
// Each batch is kept as the parts of one schema-less Arrow IPC record batch message: header facts (field nodes,
// buffers, variadic counts, rows, codec) and a body whose buffers are compressed one by one. [Ingest] makes such
// batches out of what a client sends: it checks, cuts, joins and encodes. [Reader] makes messages out of them: a new
// header, and the stored byte ranges of the chosen columns. [Joiner] makes fewer and larger batches out of many small ones
// that are stored already, and [Store.Encode] encoded ones out of those whose put deferred it. FORMAT.md says every byte.
//
// # Invariants
//
//   - A [Batch] never changes. Its buffers lie in the order of the schema's preorder, each begins at a multiple of 8, and
//     less than 64 bytes of padding lie between them: adjacent columns are one range.
//   - No body is kept that was not checked: counts, ranges, offsets and run ends are those of the schema, so that no
//     reader of it can be led out of its buffers.
//   - A body of more than MaxMessage bytes, or of more than MaxBatchRows rows or MaxBatchBytes decoded, is stored only
//     if a single row is that large.
//   - Order never changes: the rows of a put's batches, read in order, are the rows that were put.
//   - Every byte of a body is counted from its allocation to its last Release, and so are the facts beside it. Their sum
//     never passes Options.Memory.
//
// # Concurrency
//
// A [Store] and its batches are safe for concurrent use. An [Ingest], a [Reader] and a [Joiner] belong to one goroutine
// each; the work of an Ingest is done by the store's workers, which all puts share; the slow levels of Zstandard have some of
// their own. Whoever asks for memory by a [Claim] may wait for it: no lock is held meanwhile.
//
// # What it is not
//
// It knows no names, no generations and no Flight. It does not interpret values, except to check that offsets, views,
// run ends and type codes stay within their buffers.
package batchstore
