package main

// seenFlags are how the server is watched, beside its log and --http.
type seenFlags struct {
	Pprof bool `help:"Serve Go's profiles of the process at /debug/pprof/ of --http."`
}
