package descriptors

// Pin lets eviction leave a dataset alone.
type Pin struct {
	// Dataset is the dataset.
	Dataset Name
}

// Unpin lets eviction take a dataset again.
type Unpin struct {
	// Dataset is the dataset.
	Dataset Name
}

// Evict lets go of a dataset now, as eviction would.
type Evict struct {
	// Dataset is the dataset.
	Dataset Name
}

// ActionName returns [ActionPin].
func (Pin) ActionName() string { return ActionPin }

// ActionName returns [ActionUnpin].
func (Unpin) ActionName() string { return ActionUnpin }

// ActionName returns [ActionEvict].
func (Evict) ActionName() string { return ActionEvict }

// Marshal returns the body as canonical JSON.
func (a Pin) Marshal() []byte {
	var e encoder
	e.text("dataset", string(a.Dataset))
	return e.finish()
}

// Marshal returns the body as canonical JSON.
func (a Unpin) Marshal() []byte { return Pin(a).Marshal() }

// Marshal returns the body as canonical JSON.
func (a Evict) Marshal() []byte { return Pin(a).Marshal() }

var (
	pinKeys   = []key[Pin]{datasetKey(true, func(a *Pin) *Name { return &a.Dataset })}
	unpinKeys = []key[Unpin]{datasetKey(true, func(a *Unpin) *Name { return &a.Dataset })}
	evictKeys = []key[Evict]{datasetKey(true, func(a *Evict) *Name { return &a.Dataset })}
)
