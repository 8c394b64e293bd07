package plan

import (
	"errors"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

func coded(name string, id int64) *arrowipc.Field {
	return &arrowipc.Field{
		Name: name, Nullable: true, Type: arrowipc.Type{ID: arrowipc.TypeUtf8},
		Dictionary: &arrowipc.Dictionary{ID: id, IndexBits: 32, Signed: true},
	}
}

// codedGeneration has columns k (plain), a and b (dictionary 1), and s.c (dictionary 2). Dictionary 1 has 1,000 bytes
// plain and 300 stored, and another state of 4,000 and 1,200; dictionary 2 has 50 and 50.
func codedGeneration(t *testing.T) *catalog.Generation {
	schema := schemaOf(t, number("k"), coded("a", 1), coded("b", 1), structOf("s", coded("c", 2), number("d")))
	batches := evenBatches(schema, 2, 10)
	small := fakeDictionary{Key: "small", Ordinal: 0, Decoded: 1000, Stored: 300}
	large := fakeDictionary{Key: "large", Ordinal: 0, Decoded: 4000, Stored: 1200}
	other := fakeDictionary{Key: "other", Ordinal: 1, Decoded: 50, Stored: 50}
	batches[0].dictionaries = []fakeDictionary{small, other}
	batches[1].dictionaries = []fakeDictionary{large, other}
	return generation(t, schema, batches...)
}

func TestDictionaries(t *testing.T) {
	const keep, decode = descriptors.DictionariesKeep, descriptors.DictionariesDecode
	g := codedGeneration(t)
	// Two batches of 10 rows; node i has i+1 bytes a row: k 1, a 2, b 3, s 4, c 5, d 6.
	for _, tc := range []struct {
		name    string
		columns []any
		asked   descriptors.Dictionaries
		client  Client
		decode  bool
		bytes   int64 // -1 where values replace indices
	}{
		{"all", []any{"k", "a", "b", "s"}, "", Client{}, false, 20*21 + 5000 + 50},
		{"one of two that share", []any{"a"}, "", Client{}, false, 20*2 + 5000},
		{"both that share: the dictionary once", []any{"b", "a"}, "", Client{}, false, 20*5 + 5000},
		{"one column twice: the dictionary once", []any{"a", "a"}, "", Client{}, false, 20*4 + 5000},
		{"a child", []any{"s.c"}, "", Client{}, false, 20*9 + 50},
		{"a child beside it", []any{"s.d"}, "", Client{}, false, 20 * 10},
		{"none", []any{}, "", Client{}, false, 0},
		{"keep", []any{"a"}, keep, Client{}, false, 20*2 + 5000},
		{"decode", []any{"a"}, decode, Client{}, true, -1},
		{"decode a child", []any{"s.c"}, decode, Client{}, true, -1},
		{"decode, nothing to decode", []any{"k"}, decode, Client{}, false, 20},
		{"a client that reads none", []any{"a"}, "", Client{DecodeDictionaries: true}, true, -1},
		{"a client that reads none, no dictionary", []any{"k", "s.d"}, "", Client{DecodeDictionaries: true}, false, 20 * 11},
		{"keep before what is known of the client", []any{"a"}, keep, Client{DecodeDictionaries: true}, false, 20*2 + 5000},
		{"stored it fits", []any{"a"}, "", Client{MaxMessage: 1200}, false, 20*2 + 5000},
		{"stored it does not", []any{"a"}, "", Client{MaxMessage: 1199}, true, -1},
		{"plain it fits", []any{"a"}, "", Client{MaxMessage: 4000, Plain: true}, false, 20*2 + 5000},
		{"plain it does not", []any{"a"}, "", Client{MaxMessage: 3999, Plain: true}, true, -1},
		{"one that was not chosen does not fit", []any{"s.c"}, "", Client{MaxMessage: 100}, false, 20*9 + 50},
		{"keep what does not fit", []any{"a"}, keep, Client{MaxMessage: 1}, false, 20*2 + 5000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			command := descriptors.ReadCommand{Columns: columnsOf(tc.columns...), Dictionaries: tc.asked}
			r, err := New(g, &command, tc.client)
			if err != nil {
				t.Fatal(err)
			}
			if r.Decode != tc.decode || r.Decoded != tc.bytes || r.Rows != 20 {
				t.Errorf("decode %v, %d bytes, %d rows; want %v, %d, 20", r.Decode, r.Decoded, r.Rows, tc.decode, tc.bytes)
			}
			stored, sent := r.Projection.Schema.Layout.Dictionaries, r.Schema.Layout.Dictionaries
			switch {
			case tc.decode && (len(sent) != 0 || len(stored) == 0):
				t.Errorf("decoded: %d dictionaries in the schema of the stream, %d in the stored one", len(sent), len(stored))
			case !tc.decode && r.Schema != r.Projection.Schema:
				t.Error("nothing is decoded, but the stream's schema is another")
			}

			// A ticket of the resolved command means the same to any client.
			resolved := r.Resolved(command)
			if len(stored) == 0 && resolved.Dictionaries != tc.asked {
				t.Errorf("resolved to %q without dictionaries", resolved.Dictionaries)
			}
			for _, other := range []Client{{}, {DecodeDictionaries: true}, {MaxMessage: 1, Plain: true}} {
				again, err := New(g, &resolved, other)
				if err != nil {
					t.Fatal(err)
				}
				if again.Decode != r.Decode || again.Schema.Diff(r.Schema) != "" || again.Decoded != r.Decoded {
					t.Errorf("for client %+v the resolved command means another read", other)
				}
			}
			if command.Dictionaries != tc.asked {
				t.Error("resolving changed the command")
			}
		})
	}
}

// Under a limit, dictionaries are part of the share; what is decoded stays unknown.
func TestDictionariesUnderALimit(t *testing.T) {
	g, limit := codedGeneration(t), int64(5)
	command := descriptors.ReadCommand{Columns: columnsOf("a"), Limit: &limit}
	r, err := New(g, &command, Client{})
	if err != nil || r.Rows != 5 || r.Decoded != (20*2+5000)*5/20 {
		t.Errorf("%d rows and %d bytes, %v", r.Rows, r.Decoded, err)
	}
	r, err = New(g, &command, Client{DecodeDictionaries: true})
	if err != nil || r.Rows != 5 || r.Decoded != -1 {
		t.Errorf("decoded: %d rows and %d bytes, %v", r.Rows, r.Decoded, err)
	}
}

// A whole column is chosen by its name, and no part of what its dictionary holds.
func TestNoPathsIntoDictionaries(t *testing.T) {
	field := structOf("d", number("v"))
	field.Dictionary = &arrowipc.Dictionary{ID: 1, IndexBits: 8}
	g := generation(t, schemaOf(t, field))
	if _, err := New(g, &descriptors.ReadCommand{Columns: columnsOf("d")}, Client{}); err != nil {
		t.Error(err)
	}
	if _, err := New(g, &descriptors.ReadCommand{Columns: columnsOf("d.v")}, Client{}); !errors.Is(err, ErrColumn) {
		t.Errorf("a path into it: %v", err)
	}
}
