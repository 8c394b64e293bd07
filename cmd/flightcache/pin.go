package main

// pinCmd pins a dataset.
type pinCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`
}

// unpinCmd ends that.
type unpinCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`
}

// Run asks the pin action.
func (c *pinCmd) Run(e *env) error { return c.tell(e, "pin", c.Name, "pinned") }

// Run asks the unpin action.
func (c *unpinCmd) Run(e *env) error { return c.tell(e, "unpin", c.Name, "unpinned") }
