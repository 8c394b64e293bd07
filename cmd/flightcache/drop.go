package main

// dropCmd drops a dataset.
type dropCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`
}

// Run asks the drop action. Reads that began before still end well: their bytes live as long as they do.
func (c *dropCmd) Run(e *env) error { return c.tell(e, "drop", c.Name, "dropped") }
