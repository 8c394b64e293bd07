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

// ActionName returns [ActionPin].
func (Pin) ActionName() string { return ActionPin }

// ActionName returns [ActionUnpin].
func (Unpin) ActionName() string { return ActionUnpin }

// Marshal returns the body as canonical JSON.
func (a Pin) Marshal() []byte {
	var e encoder
	e.text("dataset", string(a.Dataset))
	return e.finish()
}

// Marshal returns the body as canonical JSON.
func (a Unpin) Marshal() []byte { return Pin(a).Marshal() }

var (
	pinKeys   = []key[Pin]{datasetKey(true, func(a *Pin) *Name { return &a.Dataset })}
	unpinKeys = []key[Unpin]{datasetKey(true, func(a *Unpin) *Name { return &a.Dataset })}
)
