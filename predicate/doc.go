// Package predicate is the one small typed tree that filters become, whatever language they came in.
//
// # Purpose
//
// A predicate is judged twice: against the statistics of a batch, which tell that all, none or some of its rows match,
// and against the rows themselves, where some may. Both must agree, so both are here.
//
// # Invariants
//
//   - A literal is cast to the column's type exactly, or the comparison is decided without rounding (k > 4.5 on an integer
//     column is k >= 5; k = 2**70 on int64 is false for every value).
//   - [Judge] never says none where a row matches, nor all where one does not.
//   - Nulls are as SQL has them in trees made from DNF, as Acero has them in trees made from Substrait; floats compare as
//     IEEE has them.
//
// # Concurrency
//
// A bound predicate is immutable and may be shared.
//
// # What it is not
//
// It parses no JSON and no protobuf, and reads no IPC.
package predicate
