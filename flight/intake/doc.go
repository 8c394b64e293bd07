// Package intake measures and bounds what an HTTP/2 transport has received and not yet handed over.
//
// # Purpose
//
// gRPC receives on its own: it keeps a stream's bytes from when they come until a handler has read the message that they
// belong to, half of a message for as long as its client likes. It neither tells how much that is nor bounds it over all
// connections. A [Conn] stands between gRPC and the socket and reads the frame headers and message prefixes that pass
// through, in both directions. So a [Meter] knows, for each stream, what came, and whether a message is complete, begun or
// large; [Stream.Took] tells it what was handed over. As it sees both directions it also knows how large frames the client takes
// ([Conn.FrameLimit]).
//
// # The bound
//
// A client may send as much as the window of a stream without being asked ([Options] Window). A message that fits into three
// quarters of it comes by itself. One that does not needs a grant ([Stream.Grant]) before the transport is asked to receive
// it, which is when gRPC opens the window for all of it. Grants are given in two lanes, one for messages of up to
// [SmallMessage], so that large ones never keep the common ones waiting. Callers are served in turn, and one that has grants
// gets a further one only while at least as much of the lane stays free as it has then: however slowly one sends, and on however
// many streams, there is room for others. Who has received a message may receive the next one while it still reads the transport's
// copy of it ([Hold]), if there is a grant that nobody waits for ([Stream.GrantAtOnce]). What streams hold without a grant is bounded too:
// over that bound the stream that stands still the longest is given up, or the youngest. A message of which nothing more
// comes is given up after [Options] Stall, sooner where others wait for its grant, and then also one that comes by less than
// [LeastRate]; or, where it alone takes more than a half of the lane, not within Stall. A connection is never held back as a
// whole: pings and cancels always come through.
//
// # Invariants
//
//   - What is told ([Meter.Stats]) counts every byte of the streams' data from when it was read off the connection until it
//     was taken, or its stream ended, and what was lent ([Stream.Lend]) until it is released. It is never less than what the transport keeps for it, as far as frames tell.
//   - The memory of what comes from outside is bounded before it is received, by [Stats] Limit, apart from the buffers of
//     connections, which are counted as well.
//   - What passes through is never changed, whatever it is. Bytes that are no HTTP/2 can only be counted wrongly, on a
//     connection that the transport is about to close.
//
// # Concurrency
//
// A [Meter] and its connections are safe for concurrent use, as far as a net.Conn is: one reader and one writer at a time.
// [Stream.Next], [Stream.Grant], [Stream.GrantAtOnce], [Stream.Lend] and [Stream.Took] belong to the one who receives from the stream.
//
// Locks are taken in this order: a connection's, then the meter's. None is held while a socket is read or written, nor
// while a stream is given up.
//
// # What it is not
//
// It knows no gRPC and no Flight, keeps no payload, and sends no frame of its own.
package intake
