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
	// ErrOrder: an append that says that its rows are in the dataset's order, and does not go on where that ends.
	ErrOrder = errors.New("rows do not continue the dataset's order")
	// ErrConflict: what a put relied on when it began was changed by another put before it was committed.
	ErrConflict = errors.New("dataset changed during the put")
	// ErrLeaseEnded: the lease was cancelled, or its time is over.
	ErrLeaseEnded = errors.New("lease has ended")
	// ErrNoTransaction: no transaction of this name is open for the dataset: it was committed, aborted or took too long.
	ErrNoTransaction = errors.New("no such transaction")
	// ErrResent: a put, or a commit, comes under the id of one that was another.
	ErrResent = errors.New("it is not what was sent before")
	// ErrMode: a put within a transaction gives another mode than the transaction's.
	ErrMode = errors.New("mode differs from the transaction's")
	// ErrIncomplete: a commit of puts that have not all been completed.
	ErrIncomplete = errors.New("transaction is incomplete")
	// ErrPinned: an eviction of a dataset that is pinned.
	ErrPinned = errors.New("dataset is pinned")
	// ErrNotKept: a dataset is to be durable, and nothing keeps datasets.
	ErrNotKept = errors.New("no data directory")
	// ErrDurable: an eviction of a dataset that is durable, which memory alone is not where it is.
	ErrDurable = errors.New("dataset is durable")
	// ErrTooMany: there are as many open transactions, or puts in one, as there may be.
	ErrTooMany = errors.New("too many at once")
)
