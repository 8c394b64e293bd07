// Package securetest makes certificates for tests. No key is kept: each test has its own.
//
// # Invariants
//
// What an [Authority] issues is signed by it, for the loopback and localhost, as a server or a client.
//
// # Concurrency
//
// An Authority may be used by any number of goroutines of its test.
//
// # What it is not
//
// It is not for anything but tests: what it makes is good for an hour.
package securetest
