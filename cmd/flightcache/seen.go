package main

// Values of --audit that are no file.
const (
	auditLog    = "log"
	auditStderr = "stderr"
	auditOff    = "off"
)

// seenFlags are how the server is watched, beside its log and --http.
type seenFlags struct {
	Audit string `help:"Where lines about writes, logins and denied calls go: log (the log, whatever its level), stderr (as JSON), a file to append to (as JSON), or off." default:"log" placeholder:"FILE"`
	Pprof bool   `help:"Serve Go's profiles of the process at /debug/pprof/ of --http."`
}
