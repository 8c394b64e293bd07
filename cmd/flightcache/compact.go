package main

import (
	"encoding/json"
	"fmt"
)

// compactCmd joins a dataset's small batches.
type compactCmd struct {
	clientFlags
	Name string `arg:"" help:"The dataset."`
}

// Run asks the compact action. Rows and generation stay as they are.
func (c *compactCmd) Run(e *env) error {
	return c.ask(e, "compact", c.Name, func(answer []byte) error {
		var r struct {
			BatchesBefore     int64 `json:"batches_before"`
			Batches           int64 `json:"batches"`
			StoredBytesBefore int64 `json:"stored_bytes_before"`
			StoredBytes       int64 `json:"stored_bytes"`
		}
		if err := json.Unmarshal(answer, &r); err != nil {
			return fmt.Errorf("the result of compact: %w", err)
		}
		_, err := fmt.Fprintf(e.stdout, "compacted %s: batches %s (%s), before %s (%s)\n", printable(c.Name),
			thousands(r.Batches), humanBytes(r.StoredBytes), thousands(r.BatchesBefore), humanBytes(r.StoredBytesBefore))
		return err
	})
}
