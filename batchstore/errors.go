package batchstore

import (
	"context"
	"errors"
	"fmt"
)

// Errors of this package. They are wrapped with the batch, the column and the cause; match them with errors.Is.
var (
	// ErrTooLarge: a batch that passes a limit of the store's options.
	ErrTooLarge = errors.New("record batch too large")
	// ErrMemory: the budget has no room. The message says what holds it, and what to do.
	ErrMemory = errors.New("out of memory budget")
	// ErrNoSpace: the store's folder is full, or has all the bytes that Options.DiskBytes gives it.
	ErrNoSpace = errors.New("no space for files of batches")
	// ErrFiles: the store has no folder for files, or cannot use it.
	ErrFiles = errors.New("no folder for files of batches")
	// ErrInPlace: batches of a file that is served in place are to be made durable.
	ErrInPlace = errors.New("data is served in place")
	// errPanic: a worker's code panicked. The batch's put fails, the store goes on.
	errPanic = errors.New("internal error")
)

// invalid blames the batch for an error of decoding it, unless the reason was memory or that the put ended.
func invalid(err error) error {
	if errors.Is(err, ErrMemory) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrInvalidBatch, err)
}
