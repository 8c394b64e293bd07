package main

// statsCmd shows counters.
type statsCmd struct {
	clientFlags
	Name string `arg:"" optional:"" help:"Only this dataset's counters."`
}

// Run asks the server_stats action.
func (c *statsCmd) Run(e *env) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	text, err := conn.action(e.ctx, "server_stats", datasetBody{Dataset: c.Name})
	if err != nil {
		return err
	}
	if c.json() {
		return writeJSON(e.stdout, text)
	}
	facts, err := parseFacts(text)
	if err != nil {
		return err
	}
	return writeFacts(e.stdout, facts)
}
