package main

import "fmt"

// evictCmd evicts a dataset.
type evictCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`
}

// Run asks the evict action. Unlike after a drop, whoever asks for the dataset later is told that it was evicted.
func (c *evictCmd) Run(e *env) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	text, err := conn.action(e.ctx, "evict", datasetBody{Dataset: c.Name})
	if err != nil {
		return err
	}
	if c.json() {
		return writeJSON(e.stdout, text)
	}
	_, err = fmt.Fprintf(e.stdout, "evicted %s\n", printable(c.Name))
	return err
}
