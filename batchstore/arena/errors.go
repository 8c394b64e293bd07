package arena

import "errors"

var (
	// ErrNoMemory is wrapped when no range of addresses could be reserved, and when an allocation finds no free run
	// that is long enough. The arena goes on; freeing makes room.
	ErrNoMemory = errors.New("no memory in the arena")

	// ErrSize is wrapped when an allocation of a negative size is asked for.
	ErrSize = errors.New("bad block size")

	// ErrInUse is wrapped by Close while blocks are live.
	ErrInUse = errors.New("arena is in use")

	// ErrClosed is wrapped by Alloc after Close.
	ErrClosed = errors.New("arena is closed")
)
