package descriptors

// Compact joins the small batches of a dataset.
type Compact struct {
	// Dataset is the dataset.
	Dataset Name
}

// ActionName returns [ActionCompact].
func (Compact) ActionName() string { return ActionCompact }

// Marshal returns the body as canonical JSON.
func (a Compact) Marshal() []byte {
	var e encoder
	e.text("dataset", string(a.Dataset))
	return e.finish()
}

var compactKeys = []key[Compact]{datasetKey(true, func(a *Compact) *Name { return &a.Dataset })}
