// Package reload keeps what is read from files as the files are now.
//
// # Purpose
//
// Certificates, tokens, passwords and permissions change while the server runs. A [Value] looks at its files every second. When
// their content has changed it is parsed, as a whole; what uses the value asks for it anew each time. What is not in files, as keys
// that another server publishes, is read by a function of the options, as often as they say.
//
// # Invariants
//
// A file that cannot be read or parsed changes nothing: the value stays, and why is told once for each content. Files that
// belong together, as a certificate and its key, are parsed together, so that a value is never made of an old one and a new one
// that do not fit. Content is compared, not times: a file may be written in place, renamed into place or be a link that leads
// elsewhere.
//
// # Concurrency
//
// Get may be called by any number of goroutines and never waits. Looks come one after the other, and with them what is told.
//
// # What it is not
//
// It is not for data: a file is at most 16 MiB, and is read each second.
package reload
