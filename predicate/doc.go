// Package predicate is the one small typed tree that filters become, whatever language they came in.
//
// # Purpose
//
// A predicate is judged twice: against the statistics of a batch, which tell that all, none or some of its rows match,
// and against the rows themselves, where some may. Both must agree, so both are here.
//
// A tree of [Expr] nodes is bound to a schema by [Bind], once for a read. [Predicate.Judge] is asked for every batch, and an
// [Evaluator] for those of which it said [Some].
//
// # Invariants
//
//   - A literal is cast to the column's type exactly, or the comparison is decided without rounding (k > 4.5 on an integer
//     column is k >= 5; k = 2**70 on int64 is false for every value). Only a number written with a fraction or an exponent
//     is rounded, to the nearest double, where it is compared with floats: 0.1 is what programs make of it.
//   - [Predicate.Judge] never says [None] where a row matches, nor [All] where one does not. It says None wherever the
//     bounds of a column leave no value that a comparison, a list, a prefix, a test for nulls, or a conjunction or
//     disjunction of those on that column would keep; the values that != leaves out between two bounds are not seen.
//   - What a node means does not depend on where it came from. Where SQL and Acero differ there are two nodes: [In] and
//     [Member], [Case] and [If]. Conjunctions and disjunctions are Kleene's in both; floats compare as IEEE has them.
//   - What a bound predicate is made of is bounded by [MaxDepth], [MaxNodes] and [MaxList], and evaluating it looks at each
//     node once for a batch, choices and tests for null included.
//
// # Concurrency
//
// A bound predicate is immutable and may be shared. An evaluator belongs to one goroutine at a time.
//
// # What it is not
//
// It parses no JSON and no protobuf, and reads no IPC: a vector's offsets, views and indices must have been checked.
package predicate
