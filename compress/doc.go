// Package compress encodes and decodes single Arrow buffers as the Arrow IPC format's BodyCompression stores them
// (format/Message.fbs, BodyCompressionMethod BUFFER): each buffer of a record batch's body by itself, so that one column
// can be read, sent or decoded without its neighbours.
//
// # Stored form
//
// The stored form of a buffer under [LZ4] or [Zstd] is
//
//   - nothing at all, for an empty buffer (readers also take a prefix of 0 with nothing behind it);
//   - an int64, little endian, with the decoded length in bytes, then exactly one frame (the LZ4 frame format, or a
//     Zstandard frame of RFC 8878);
//   - or an int64 of -1 and then the bytes as they are. [Pool.Append] does this when a frame would save less than 5 %.
//
// Under [None] the stored form is the buffer itself, with no prefix: such a batch carries no BodyCompression.
//
// Padding between buffers is not part of the stored form. Whoever lays out a body adds it, and passes here the bytes
// that the buffer's metadata counts.
//
// # Invariants
//
//   - The same bytes under the same codec and level give the same stored form, whatever a context was used for before.
//   - A frame is written without checksums: the store keeps its own over a wider range.
//   - Stored bytes are hostile. [DecodedLen] refuses a length that no frame of that size can hold; a decoder never
//     writes outside the destination, and fails unless the frame gives exactly its length; what it needs besides is
//     bounded by the block size of the format and not by numbers in the input, with one exception, named at
//     [Pool.Decode]. No input panics.
//   - Checksums that a foreign frame carries are verified.
//
// # Memory
//
// A Zstandard encoder owns tables and a window of a few MiB, which cost more to make than a small buffer costs to
// encode. A [Pool] therefore keeps contexts. Their number is bounded, per kind, by [Options.Contexts], running and idle
// together; a context bigger than [Options.RetainBytes] is closed after its use instead of kept. Contexts never refer to
// a caller's memory after a call.
//
// # Concurrency
//
// A [Pool] may be used by any number of goroutines; beyond Contexts of one kind they wait for each other. An [Encoder]
// belongs to one goroutine at a time. No lock is held while bytes are encoded or decoded.
//
// # What it is not
//
// It knows no batches, no alignment and no schema, streams nothing, and does not decide which codec to use.
package compress
