package main

// statsCmd shows counters.
type statsCmd struct {
	clientFlags
	Name string `arg:"" optional:"" help:"Only this dataset's counters."`
}

// Run asks the server_stats action.
func (c *statsCmd) Run(e *env) error {
	return c.ask(e, "server_stats", c.Name, func(answer []byte) error {
		facts, err := parseFacts(answer)
		if err != nil {
			return err
		}
		return writeFacts(e.stdout, facts)
	})
}
