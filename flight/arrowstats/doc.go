// Package arrowstats writes statistics in Arrow's own schema for them.
//
// # Purpose
//
// Arrow specifies a record batch layout for statistics ("Statistics schema" of the format's documentation): a row for
// each column, and for the whole, with a map from names such as ARROW:null_count:exact to values of any type. Any client
// that knows the schema can plan with it. This package turns what the catalogue knows into such batches.
//
// # Invariants
//
//   - Values of bounds have the column's own type (of a dictionary, its values'). A bound that was cut to fit is
//     approximate, all else is exact.
//   - Columns are numbered as the specification has it: depth first, in the schema of the read, structs before their
//     fields. The row without a number is about the whole.
//
// # Concurrency
//
// A [Schema] is immutable and may be shared.
//
// # What it is not
//
// It measures nothing and sends nothing. Batches are small; they are built with arrow-go's builders.
package arrowstats
