// Command bare gives the same answer to every call, out of memory and with nothing before it but the kernel: no server can be faster
// to the same client.
//
// It reads the answer of a DoGet once, from the server that is measured, and keeps its messages as they came. Then it speaks just as
// much HTTP/2 as it takes to send them (RFC 9113): frames as large as the client's settings and windows allow, each with its
// head in one writev. It checks nothing, knows no other methods, and one call ends before the next begins.
//
// It prints its address on one line when it serves, and ends when it is killed.
package main
