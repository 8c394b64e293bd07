// Command wire receives and sends Flight messages without interpreting them, for tests of what is on the wire.
//
//	wire get --address HOST:PORT --ticket TEXT [--accept-codecs LIST] [--out FILE.arrows]
//	wire put --address HOST:PORT < MESSAGES
//	wire cancel --address HOST:PORT [--count N] [--connections N] [--seed N] TICKET...
//	wire probe --address HOST:PORT
//	wire hostile --address HOST:PORT --kind open|get|put|noise [--count N] [--ticket TEXT] [--seed N]
//
// get writes the messages of one DoGet as an Arrow IPC stream, header and body as they came, and prints one JSON object:
// the number of messages, the size of the largest, and the status of the call. put reads JSON lines, each a message, and
// sends them as they are; it prints the status and the results. cancel begins reads and gives them up. All use a stock
// client without call options, so that its limits are those that a user meets.
//
// probe calls again and again until its input ends, as a client that behaves, and prints how long that took. hostile is what a
// server has to bear, until its input ends; it prints a line when all of it has begun.
package main
