// Package limits bounds what clients may have of a server: connections, calls at once, calls a second, and stored bytes.
//
// # Purpose
//
// [Connections] counts connections, from before their handshakes. [Callers] counts what each caller has running and how often
// it calls. [Quotas] counts the stored bytes of datasets, and of all datasets whose names a pattern has. What is over a limit is
// an [ErrLimit] that names the limit and the option that sets it.
//
// # Quotas
//
// A quota is about what is committed, and about what running puts will make of it. The order in which these end is not known, so
// a dataset counts with the most that it may come to: the largest of what it has and of what each running replacement has
// stored, and all that running appends have stored. A replacement thus counts only as far as it is larger than what it replaces,
// and no put that was let in can be over the quota when it is committed. What counts only ever grows in [Share.Grow] and
// [Quotas.Fits], which refuse; what is told by [Quotas.Sized] is a fact.
//
// # Invariants
//
//   - No limit is passed by calls that come at once: each is checked and counted in one step.
//   - Who is counted is counted until it leaves, once, however often it says so.
//   - A caller of whom nothing runs, and who has not called for a while, is forgotten.
//   - What was there before a quota, or was read from a folder at the start, stays; it counts.
//
// # Concurrency
//
// All of it is safe for concurrent use. The locks are leaves: nothing is called, sent or waited for while one is held.
//
// # What it is not
//
// It does not know who calls, nor what a dataset is: it is told. It knows no gRPC, and keeps no connection. The memory budget is
// the store's.
package limits
