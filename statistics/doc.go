// Package statistics measures plain columns: null counts, bounds, whether there are NaNs.
//
// # Purpose
//
// A planner decides from statistics alone whether a stored batch can hold a row that a predicate keeps. They are measured
// once, when a batch is put, in the pass that looks at its buffers anyway, and merged for the dataset.
//
// # Invariants
//
//   - No bound lies: every value of the measured rows that is neither null nor NaN lies between Min and Max, in the order
//     of its [Class]. Where that cannot be said, there is no bound.
//   - -0.0 and 0.0 are equal, and NaN is apart: it is no bound, and [Column.HasNaN] tells of it.
//   - A bound of bytes has at most [MaxBytes] bytes: the lower is cut down, the upper is cut up, and both then say that
//     they are not exact.
//   - What is kept for one column of one batch is bounded in size, whatever the values are.
//
// # Concurrency
//
// Everything here is a value, or a function of values.
//
// # What it is not
//
// It reads no IPC and holds no payload. It does not judge predicates.
package statistics
