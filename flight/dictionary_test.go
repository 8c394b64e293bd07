package flight

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/arrowipc"
)

var dictionaryType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}

var categorySchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "city", Type: dictionaryType, Nullable: true},
	{Name: "trade", Type: dictionaryType, Nullable: true},
}, nil)

// categories makes batches whose two dictionary columns have dictionaries of their own: those of batch i are of the i-th
// pair of value lists.
func categories(rows int, values ...[2][]string) table {
	out := table{schema: categorySchema}
	for n, pair := range values {
		ids := array.NewInt64Builder(memory.NewGoAllocator())
		columns := []arrow.Array{nil}
		for i := range rows {
			ids.Append(int64(n*rows + i))
		}
		columns[0] = ids.NewArray()
		for _, list := range pair {
			dictionary := array.NewStringBuilder(memory.NewGoAllocator())
			dictionary.AppendValues(list, nil)
			indices := array.NewInt8Builder(memory.NewGoAllocator())
			for i := range rows {
				if i%7 == 3 {
					indices.AppendNull()
				} else {
					indices.Append(int8(i % len(list)))
				}
			}
			columns = append(columns, array.NewDictionaryArray(dictionaryType, indices.NewArray(), dictionary.NewArray()))
		}
		out.batches = append(out.batches, array.NewRecordBatch(categorySchema, columns, int64(rows)))
	}
	return out
}

// words are the values of a string column, or of a dictionary of strings, nulls as "-".
func words(tb table, column int) (out []string) {
	for _, b := range tb.batches {
		c := b.Column(column)
		for i := range c.Len() {
			switch c := c.(type) {
			case *array.Dictionary:
				if c.IsNull(i) {
					out = append(out, "-")
				} else {
					out = append(out, c.Dictionary().(*array.String).Value(c.GetValueIndex(i)))
				}
			case *array.String:
				if c.IsNull(i) {
					out = append(out, "-")
				} else {
					out = append(out, c.Value(i))
				}
			}
		}
	}
	return out
}

// Batches whose dictionaries replace each other come back with their own values, whole, projected and decoded.
func TestReplacedDictionaries(t *testing.T) {
	tb := categories(20,
		[2][]string{{"ams", "ber"}, {"smith"}},
		[2][]string{{"cph", "dub"}, {"smith"}},
		[2][]string{{"cph", "dub"}, {"cook", "baker", "smith"}},
		[2][]string{{"ams", "ber"}, {"cook", "baker", "smith"}},
	)
	for _, codec := range []string{"none", "zstd"} {
		for _, batching := range []string{"keep", "auto"} {
			f := start(t)
			put := described(byCommand(fmt.Sprintf(`{"dataset":"d","codec":%q,"batching":%q}`, codec, batching)), messagesOf(t, tb))
			if _, err := f.send(put); err != nil {
				t.Fatal(err)
			}
			for _, more := range []string{"", `,"dictionaries":"keep"`, `,"dictionaries":"decode"`, `,"wire":"none"`, `,"wire":"stored"`, `,"wire":"lz4"`} {
				for columns, ordinals := range map[string][]int{`["id","city","trade"]`: {0, 1, 2}, `["trade"]`: {2}, `["trade","city"]`: {2, 1}, `["city"]`: {1}, `["id"]`: {0}} {
					t.Run(codec+" "+batching+columns+more, func(t *testing.T) {
						f := f.in(t)
						command := `{"dataset":"d","columns":` + columns + more + `}`
						info := f.info(byCommand(command))
						stream := f.get(string(info.Endpoint[0].Ticket.Ticket))
						f.oneSchema(byCommand(command), info, stream)
						got := tableOf(t, stream)
						if got.rows() != 80 || info.TotalRecords != 80 {
							t.Fatalf("%d rows, counted %d", got.rows(), info.TotalRecords)
						}
						for i, o := range ordinals {
							if fmt.Sprint(words(got, i)) != fmt.Sprint(words(tb, o)) {
								t.Errorf("column %d:\n got %v\nwant %v", o, words(got, i), words(tb, o))
							}
						}
						_, isDictionary := got.schema.Field(len(ordinals) - 1).Type.(*arrow.DictionaryType)
						if want := more != `,"dictionaries":"decode"` && columns != `["id"]`; isDictionary != want {
							t.Errorf("the last column is a dictionary: %v, want %v", isDictionary, want)
						}
					})
				}
			}
		}
	}
}

// A projection sends the dictionaries of its columns only.
func TestProjectionSendsItsDictionariesOnly(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), categories(20, [2][]string{{"ams"}, {"smith", "cook"}}))
	for columns, dictionaries := range map[string]int{`["id"]`: 0, `["trade"]`: 1, `["trade","id","city"]`: 2, `[]`: 0} {
		n := 0
		for _, m := range f.get(`{"dataset":"d","columns":` + columns + `}`)[1:] {
			h, err := arrowipc.ReadMessage(m.DataHeader, arrowipc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if h.Type == arrowipc.HeaderDictionaryBatch {
				n++
			}
		}
		if n != dictionaries {
			t.Errorf("%s: %d dictionary batches, want %d", columns, n, dictionaries)
		}
	}
}

func TestPutOfDictionaryDeltas(t *testing.T) {
	f := start(t)
	tb := categories(20,
		[2][]string{{"ams"}, {"smith"}}, [2][]string{{"ams", "ber"}, {"smith"}}, [2][]string{{"ams", "ber", "cph"}, {"smith", "cook"}})
	if _, err := f.send(described(byCommand(`{"dataset":"d","batching":"keep"}`), messagesOf(t, tb, ipc.WithDictionaryDeltas(true)))); err != nil {
		t.Fatal(err)
	}
	got := tableOf(t, f.get("d"))
	for column := 1; column <= 2; column++ {
		if fmt.Sprint(words(got, column)) != fmt.Sprint(words(tb, column)) {
			t.Errorf("column %d: %v", column, words(got, column))
		}
	}
}

func TestPutRefusesDictionaryMessages(t *testing.T) {
	f := start(t)
	stream := messagesOf(t, categories(20, [2][]string{{"ams", "ber"}, {"smith"}}))
	schema, dictionaries, batch := stream[:1], stream[1:3], stream[3:]
	path := byPath("d")
	for name, c := range map[string]struct {
		send messages
		part string
	}{
		"dictionary before the schema": {described(path, dictionaries), "no schema"},
		"no dictionary":                {described(path, join(schema, batch)), "record batch 0"},
		"one of two dictionaries":      {described(path, join(schema, dictionaries[:1], batch)), "record batch 0"},
		"dictionary of no column":      {join(described(path, messagesOf(t, noise(10))[:1]), dictionaries), "no column"},
	} {
		t.Run(name, func(t *testing.T) {
			f := f.in(t)
			_, err := f.send(c.send)
			wantStatus(t, err, codes.InvalidArgument, `dataset "d"`, c.part)
			f.settles(0)
		})
	}
}
