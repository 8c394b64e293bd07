package batchstore

import "errors"

// Errors of this package. They are wrapped with the batch, the column and the cause; match them with errors.Is.
var (
	// ErrTooLarge: a batch that passes a limit of the store's options.
	ErrTooLarge = errors.New("record batch too large")
	// errPanic: a worker's code panicked. The batch's put fails, the store goes on.
	errPanic = errors.New("internal error")
)
