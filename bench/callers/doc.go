// Command callers calls GetFlightInfo from many connections at once and tells how long the calls took.
//
// Each caller has a connection of its own and makes its calls one after the other. It prints one JSON object: callers,
// calls, seconds, and of the single calls the median, the 99th percentile and the largest time, in seconds.
package main
