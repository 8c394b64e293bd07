package catalog

import "errors"

// Errors of this package. They are wrapped with the dataset's name and what to do; match them with errors.Is.
var (
	// ErrNotFound: no dataset has this name.
	ErrNotFound = errors.New("no such dataset")
	// ErrStale: the dataset exists, but the generation that was asked for has been replaced or dropped.
	ErrStale = errors.New("generation is gone")
	// ErrExists: a put of mode create met an existing dataset.
	ErrExists = errors.New("dataset exists")
	// ErrSchemaMismatch: an append whose schema is not that of the dataset.
	ErrSchemaMismatch = errors.New("schema differs from the dataset's")
	// ErrConflict: what a put relied on when it began was changed by another put before it was committed.
	ErrConflict = errors.New("dataset changed during the put")
)
