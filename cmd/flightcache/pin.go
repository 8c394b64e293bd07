package main

import "fmt"

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
func (c *pinCmd) Run(e *env) error { return setPinned(e, c.clientFlags, "pin", c.Name) }

// Run asks the unpin action.
func (c *unpinCmd) Run(e *env) error { return setPinned(e, c.clientFlags, "unpin", c.Name) }

func setPinned(e *env, flags clientFlags, action, name string) error {
	conn, err := flags.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	text, err := conn.action(e.ctx, action, datasetBody{Dataset: name})
	if err != nil {
		return err
	}
	if flags.json() {
		return writeJSON(e.stdout, text)
	}
	_, err = fmt.Fprintf(e.stdout, "%sned %s\n", action, printable(name))
	return err
}
