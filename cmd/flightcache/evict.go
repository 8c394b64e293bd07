package main

// evictCmd evicts a dataset.
type evictCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`
}

// Run asks the evict action. Unlike after a drop, whoever asks for the dataset later is told that it was evicted.
func (c *evictCmd) Run(e *env) error { return c.tell(e, "evict", c.Name, "evicted") }
