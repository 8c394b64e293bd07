// Package statistics measures plain columns: null counts, bounds, whether there are NaNs.
//
// # Purpose
//
// A planner decides from statistics alone whether a stored batch can hold a row that a predicate keeps. They are measured
// once, when a batch is put, in the pass that looks at its buffers anyway ([Measure]), and merged for the dataset
// ([Column.Merge]).
//
// # Invariants
//
//   - No bound lies: every value of the measured rows that is neither null nor NaN lies between Min and Max, in the order
//     of its [Class]. Where that cannot be said, there is no bound.
//   - Bounds are of values that rows have: what a null slot holds, or a dictionary entry that no row refers to, does not
//     count.
//   - -0.0 and 0.0 are equal, and NaN is apart: it is no bound, and [Column.HasNaN] tells of it.
//   - A bound of bytes has at most [MaxBytes] bytes: the lower is cut down, the upper is cut up, and both then say that
//     they are not exact. Text is cut between characters.
//   - What is kept for one column of one batch is bounded in size, whatever the values are. So is what is looked at of one
//     value: views that all show the same long bytes cost no more than short ones.
//   - The order in which Columns are merged does not matter, to the bit.
//
// # Concurrency
//
// Everything here is a value, or a function of values. A [Vector] may be measured by several goroutines while its buffers
// are not written.
//
// # What it is not
//
// It reads no IPC and holds no payload: the caller lays out the buffers, and has checked what offsets, views and indices
// say. It does not judge predicates.
package statistics
