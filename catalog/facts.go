package catalog

import (
	"encoding/json"
	"time"
)

// Facts are what is told about a generation, under the same keys in a put's result, in describe and in a FlightInfo's
// app_metadata. Sizes are bytes; Decoded ones are of unpadded plain buffers, Stored ones of the encoded buffers.
type Facts struct {
	Dataset      string        `json:"dataset"`
	Generation   string        `json:"generation"`
	Rows         int64         `json:"rows"`
	Batches      int           `json:"batches"`
	DecodedBytes int64         `json:"decoded_bytes"`
	StoredBytes  int64         `json:"stored_bytes"`
	Codec        string        `json:"codec"`
	Created      string        `json:"created"`
	Columns      []ColumnFacts `json:"columns"`
}

// ColumnFacts are the facts of one top-level column, its children included.
type ColumnFacts struct {
	Name         string `json:"name"`
	Type         string `json:"type"`
	DecodedBytes int64  `json:"decoded_bytes"`
	StoredBytes  int64  `json:"stored_bytes"`
	NullCount    int64  `json:"null_count"`
}

// Facts gathers the facts of the generation.
func (g *Generation) Facts() Facts {
	f := Facts{
		Dataset: g.Dataset, Generation: g.ID, Rows: g.Rows, Batches: len(g.Batches), DecodedBytes: g.Decoded,
		StoredBytes: g.Stored, Codec: g.Codec, Created: g.Created.UTC().Format(time.RFC3339Nano),
		Columns: make([]ColumnFacts, 0, len(g.Schema.Layout.Columns)),
	}
	for _, c := range g.Schema.Layout.Columns {
		n := g.Column(c)
		f.Columns = append(f.Columns, ColumnFacts{
			Name: c.Field.Name, Type: c.Field.TypeString(), DecodedBytes: n.Decoded, StoredBytes: n.Stored, NullCount: n.Nulls,
		})
	}
	return f
}

// FactsJSON is Facts as one JSON object. The bytes are shared by all callers and not to be modified.
func (g *Generation) FactsJSON() []byte {
	g.factsOnce.Do(func() {
		// Facts holds strings and integers only: it always marshals. Invalid UTF-8 in a column name becomes U+FFFD.
		g.facts, _ = json.Marshal(g.Facts())
	})
	return g.facts
}
