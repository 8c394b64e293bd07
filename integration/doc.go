// Package integration tests the built server from outside, with real clients.
//
// It holds no code of the server and imports none: its tests build the program, start it on a port of its own, and speak
// to it through public client packages only. The Go tests here cover stock arrow-go clients; the Python tests in
// integration/tests cover pyarrow, polars, DuckDB and the command line. The program in integration/wire shows both of
// them what is on the wire: it keeps messages as they came, and sends messages as they are told.
//
// Each test starts its own servers and ends them; nothing is left running. Sharing a server between tests is left to
// those that only read.
package integration
