// Command drain reads DoGet streams as fast as it can and keeps nothing: what it measures is the server.
//
// Its gRPC codec counts the bytes of a message and drops them. All readers start together, each on a connection of its
// own. It prints one JSON object: readers, seconds, messages and bytes.
package main
