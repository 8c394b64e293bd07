package catalog

import "time"

// Keeper keeps durable datasets where they outlive the process. The catalogue calls it with no lock held, and for one dataset
// one call at a time. What a call did is there after a crash once it has returned; after an error all is as it was before.
type Keeper interface {
	// Keep keeps a generation in the place of what is kept of its dataset. The generation and its batches are good for the
	// call; who needs a batch longer retains it.
	Keep(Kept) error
	// Forget lets go of what is kept of a dataset.
	Forget(dataset string) error
}

// Kept is what a Keeper is to keep of a dataset.
type Kept struct {
	Generation *Generation // the newest, or the one that is published once it is kept
	Pinned     bool
	Put        *KeptPut // that made it and is kept with it; nil for none
}

// KeptPut is a committed put that is known by an id, and what it is answered with when it is sent again.
type KeptPut struct {
	Name  string // of its dataset and its id
	At    time.Time
	Facts []byte // JSON, not to be modified
	What  string // the put was, as the catalogue compares it; "" where that is not known
}
