// Package segment keeps stored batches in files that are plain Arrow IPC files.
//
// # Purpose
//
// A segment is consecutive batches of one schema and one dictionary state, in a file that any Arrow reader opens. The bodies
// in it are the stored ones, byte for byte, so a read takes the ranges of the chosen columns from the file as it would from
// memory. What a store needs of a batch to serve it without its body ([Facts]) stands in the footer's custom metadata, with
// checksums; opening a segment reads that and no payload. FORMAT.md says every byte.
//
// Arrow IPC files of other programs can be opened too ([Pool.OpenAny]). They have neither facts nor checksums.
//
// # Invariants
//
//   - A file has its name only when it is whole: it is written beside it and renamed. [Writer.Finish] with sync returns when
//     it will be there after a crash too.
//   - What a segment says is checked before it is believed: the footer by its checksum, a body by the checksum of each column
//     run that is read. A file that was cut short or changed is [ErrDamaged], and nothing of it is served.
//   - Beyond checksums, all counts and ranges are those of the schema, and no range leaves the file: whoever wrote it, it
//     leads no reader out of its buffers. Nothing is allocated in proportion to a number that was not checked.
//   - Files are read by pread, never mapped: what happens to a file is an error and not a signal.
//   - Of the descriptors of a [Pool], so many at most are open that no read uses.
//
// # Concurrency
//
// A [Pool] and a [File] are safe for concurrent use; a [Writer] belongs to one goroutine. One lock guards the descriptors,
// and it is not held while a file is opened, read, written or closed.
//
// # What it is not
//
// It knows no budget, no datasets and no generations, and does not say which files are still needed. It does not look at
// the values in a body.
package segment
