package catalog

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
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
	SortedBy     []string      `json:"sorted_by,omitempty"`
	OrderDropped bool          `json:"order_dropped,omitempty"`
	Durable      bool          `json:"durable,omitempty"` // whether it outlives the server
	Columns      []ColumnFacts `json:"columns"`
}

// ColumnFacts are the facts of one top-level column, its children included.
type ColumnFacts struct {
	Name         string `json:"name"`
	Type         string `json:"type"`
	DecodedBytes int64  `json:"decoded_bytes"`
	StoredBytes  int64  `json:"stored_bytes"`
	NullCount    int64  `json:"null_count"`

	BoundFacts
	Fields []FieldFacts `json:"fields,omitempty"` // of a struct: its fields, at any depth
}

// BoundFacts bound the values that are neither null nor NaN; a bound is absent where there is no such value, or where
// there is no such bound. Exact says that both are values of the column.
type BoundFacts struct {
	Min    any  `json:"min,omitempty"`
	Max    any  `json:"max,omitempty"`
	Exact  bool `json:"exact,omitempty"`
	HasNaN bool `json:"has_nan,omitempty"`
}

// FieldFacts are the facts of one field of a struct.
type FieldFacts struct {
	Path      string `json:"path"` // dotted, from the top
	Type      string `json:"type"`
	NullCount int64  `json:"null_count"` // nulls of the structs around it counted in
	BoundFacts
}

// Facts gathers the facts of the generation.
func (g *Generation) Facts() Facts {
	f := Facts{
		Dataset: g.Dataset, Generation: g.ID, Rows: g.Rows, Batches: len(g.Batches), DecodedBytes: g.Decoded,
		StoredBytes: g.Stored, Codec: g.Codec, Created: g.Created.UTC().Format(time.RFC3339Nano), Durable: g.Durable,
		Columns: make([]ColumnFacts, 0, len(g.Schema.Layout.Columns)),
	}
	if f.OrderDropped = g.OrderDropped; g.Order != nil {
		f.SortedBy = g.Order.SortedBy
	}
	next := 0 // row columns come in the order of the columns
	for _, c := range g.Schema.Layout.Columns {
		n := g.Column(c)
		column := ColumnFacts{
			Name: c.Field.Name, Type: c.Field.TypeString(), DecodedBytes: n.Decoded, StoredBytes: n.Stored, NullCount: n.Nulls,
		}
		for ; next < len(g.RowColumns) && g.RowColumns[next].Column.Node0 < c.Node1; next++ {
			if g.Statistics == nil {
				continue
			}
			l, st := g.RowColumns[next], g.Statistics[next]
			if l.Column == c {
				column.NullCount, column.BoundFacts = st.Nulls, Bounds(c.Field, st)
				continue
			}
			column.Fields = append(column.Fields, FieldFacts{
				Path: PathText(l.Path), Type: l.Column.Field.TypeString(), NullCount: st.Nulls,
				BoundFacts: Bounds(l.Column.Field, st),
			})
		}
		f.Columns = append(f.Columns, column)
	}
	return f
}

// PathText writes the names down to a column as one, dotted.
func PathText(path []string) string { return strings.Join(path, ".") }

// Bounds are the bounds of a column of this field as facts.
func Bounds(f *arrowipc.Field, c statistics.Column) (b BoundFacts) {
	if c.HasMin {
		b.Min = c.Min.JSON(f)
	}
	if c.HasMax {
		b.Max = c.Max.JSON(f)
	}
	b.Exact = c.HasMin && c.HasMax && c.MinExact && c.MaxExact
	b.HasNaN = c.HasNaN
	return b
}

// FactsJSON is Facts as one JSON object. The bytes are shared by callers and not to be modified.
func (g *Generation) FactsJSON() []byte {
	g.factsMu.Lock()
	defer g.factsMu.Unlock()
	if g.facts != nil && keepingFacts {
		return g.facts
	}
	// Facts holds strings, numbers that JSON has, and booleans only: it always marshals. Invalid UTF-8 in a column name becomes U+FFFD.
	f := g.Facts()
	facts, _ := json.Marshal(f)
	bytes := len(facts) - len(f.Created) + len(time.RFC3339Nano) // whatever the digits of the time: figures can be told beforehand
	if !keepingFacts {
		return facts
	}
	if charge, err := g.chargesFacts(int64(bytes)); err == nil {
		g.facts, g.factsCharge = facts, charge
	}
	return facts
}

// BriefJSON is FactsJSON without the columns.
func (g *Generation) BriefJSON() []byte {
	f := g.Facts()
	f.Columns = []ColumnFacts{}
	b, _ := json.Marshal(f) // as in FactsJSON
	return b
}
