// Command drain reads DoGet streams as fast as it can and keeps nothing: what it measures is the server.
//
// Its gRPC codec counts the bytes of a message and drops them. All readers start together, each on a connection of its
// own, and all must get as many messages and bytes. It prints one JSON object: readers, seconds, the seconds of each,
// and of all together the messages, their bytes, and the bytes of bodies among them.
package main
