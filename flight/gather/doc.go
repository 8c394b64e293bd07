// Package gather sends what an HTTP/2 server writes from where it lies.
//
// # Purpose
//
// gRPC copies all that it sends into a buffer, and the kernel copies it once more. Without that buffer it makes one write of
// each frame's head and one of each piece of a payload. A [Conn] takes these writes: of memory that stays as it is it keeps
// only where it lies, the rest it copies, and a goroutine sends both by one writev. While a writev runs the next one
// gathers, so that large answers need few of them, and the writer works beside the kernel.
//
// What waits can still be changed: frames of data that follow each other in a stream become one, as large as the client takes.
// gRPC's own have 16 KiB, and a client's time for a read is spent for each frame as well as for each byte.
//
// # Invariants
//
//   - Bytes are sent in the order in which they were written, each once, or the connection has failed. Only heads of frames of data
//     are left out, and those before them changed, so that the streams that a client reads are the same.
//   - What [Conn.After] was given is released once, when all that was written before has been sent, or never will be.
//   - No more than [Limit] bytes, [CopyLimit] if they are copied, wait to be sent, beside as many that are being sent. A writer waits beyond that.
//   - What is written is sent without anybody asking for it: there is no flush.
//   - A connection with nothing to send has no goroutine and no memory but its own.
//
// # Concurrency
//
// A [Conn] is safe for concurrent use. Writes are in an order only if one goroutine makes them, as HTTP/2 servers do. The
// lock is a leaf: nothing is sent or released while it is held.
//
// # What it is not
//
// It knows no more of HTTP/2 than the heads of frames, and reads nothing. It does not tell whether memory stays: its owner does.
package gather
