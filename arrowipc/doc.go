// Package arrowipc reads and writes the metadata of Arrow IPC messages: schema messages, record batch headers and
// dictionary batch headers, as the flatbuffers of Arrow's format/Message.fbs and format/Schema.fbs (metadata version
// V5), and the footers of files, of format/File.fbs. It knows what a message's buffers are and where they lie; it never
// holds or touches the bytes of a body.
//
// # Purpose
//
// A stored batch is sent again under a new header that names fewer buffers, and a stored schema is sent again with
// fewer fields. Both need the metadata itself, byte for byte, and not a library's view of it: arrow-go renames the
// children of maps, resolves extension types and does not expose its flatbuffers.
//
// # Invariants
//
//   - Bytes that come from outside are verified as a whole (every offset, vector length, string and depth) before any
//     of them is believed, under [Limits], and nothing is allocated in proportion to a number that was not checked.
//     No input panics.
//   - Parts of a header may be shared, as flatbuffers allow, and lie at any address. What is shared counts against the
//     limits as often as it is used: no header makes reading or copying it cost more than in proportion to them.
//   - What [ParseSchema] accepts, [Schema.Project] can project, and the bytes of the metadata of a field that is kept
//     are the bytes that came in. What a later version of the format adds to a table is read over, and left out of the
//     tables of a projection.
//   - What is written is aligned as the verifier of Arrow C++ demands, whatever the alignment of its source.
//   - Layout follows the columnar format of metadata V5: unions have no validity buffer, run-end encoded columns have
//     no buffers of their own.
//
// # Concurrency
//
// A [Schema] and everything that hangs on it is immutable once it has been parsed and may be shared. A
// [HeaderBuilder] belongs to one goroutine.
//
// # What it is not
//
// It is no reader or writer of streams, it does not decode buffers, and it does not check what offsets inside a body
// say: that is batchstore's part.
package arrowipc
