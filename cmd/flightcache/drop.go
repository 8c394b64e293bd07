package main

import "fmt"

// dropCmd drops a dataset.
type dropCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`
}

// Run asks the drop action. Reads that began before still end well: their bytes live as long as they do.
func (c *dropCmd) Run(e *env) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	text, err := conn.action(e.ctx, "drop", datasetBody{Dataset: c.Name})
	if err != nil {
		return err
	}
	if c.json() {
		return writeJSON(e.stdout, text)
	}
	_, err = fmt.Fprintf(e.stdout, "dropped %s\n", printable(c.Name))
	return err
}
