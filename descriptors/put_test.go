package descriptors

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPutFromCommandTakes(t *testing.T) {
	put := func(change func(*PutCommand)) PutCommand {
		c := PutCommand{Dataset: "x", Mode: ModeReplace, Batching: BatchingAuto}
		change(&c)
		return c
	}
	for _, c := range []struct {
		in   string
		want PutCommand
	}{
		{`{"dataset":"x"}`, put(func(*PutCommand) {})},
		{`{"dataset":"x","mode":"replace","batching":"auto"}`, put(func(*PutCommand) {})},
		{`{"dataset":"x","mode":"append"}`, put(func(c *PutCommand) { c.Mode = ModeAppend })},
		{`{"dataset":"x","mode":"create"}`, put(func(c *PutCommand) { c.Mode = ModeCreate })},
		{`{"dataset":"x","codec":"none"}`, put(func(c *PutCommand) { c.Codec = CodecNone })},
		{`{"dataset":"x","codec":"lz4"}`, put(func(c *PutCommand) { c.Codec = CodecLZ4 })},
		{`{"dataset":"x","codec":"zstd"}`, put(func(c *PutCommand) { c.Codec = CodecZstd })},
		{`{"level":1,"dataset":"x","codec":"zstd"}`, put(func(c *PutCommand) { c.Codec, c.Level = CodecZstd, 1 })},
		{`{"dataset":"x","codec":"zstd","level":22}`, put(func(c *PutCommand) { c.Codec, c.Level = CodecZstd, 22 })},
		{`{"dataset":"x","encode":"now"}`, put(func(c *PutCommand) { c.Encode = EncodeNow })},
		{`{"dataset":"x","encode":"deferred","codec":"none"}`, put(func(c *PutCommand) { c.Encode, c.Codec = EncodeDeferred, CodecNone })},
		{`{"dataset":"x","batching":"keep"}`, put(func(c *PutCommand) { c.Batching = BatchingKeep })},
		{`{"dataset":"x","rows":0}`, put(func(c *PutCommand) { c.Rows = int64p(0) })},
		{`{"dataset":"x","rows":9223372036854775807}`, put(func(c *PutCommand) { c.Rows = int64p(math.MaxInt64) })},
		{`{"dataset":"x","sorted_by":["x","-y","","a-b"]}`, put(func(c *PutCommand) {
			c.SortedBy = []SortKey{{Column: "x"}, {Column: "y", Descending: true}, {}, {Column: "a-b"}}
		})},
		{`{"dataset":"x","ttl":1}`, put(func(c *PutCommand) { c.TTL = 1 })},
		{`{"dataset":"x","ttl":315360000}`, put(func(c *PutCommand) { c.TTL = MaxTTL })},
		{`{"dataset":"x","pin":true}`, put(func(c *PutCommand) { c.Pin = boolp(true) })},
		{`{"dataset":"x","pin":false}`, put(func(c *PutCommand) { c.Pin = boolp(false) })},
		{`{"dataset":"x","durable":true}`, put(func(c *PutCommand) { c.Durable = boolp(true) })},
		{`{"put_id":"p","durable":false,"dataset":"x"}`, put(func(c *PutCommand) { c.PutID, c.Durable = "p", boolp(false) })},
		{`{"dataset":"x","put_id":"é 1/2"}`, put(func(c *PutCommand) { c.PutID = "é 1/2" })},
		{`{"dataset":"x","transaction":"t"}`, put(func(c *PutCommand) { c.Transaction, c.Mode = "t", "" })},
		{`{"dataset":"x","transaction":"t","mode":"replace"}`, put(func(c *PutCommand) { c.Transaction = "t" })},
		{`{"mode":"append","transaction":"t","put_id":"p","dataset":"x"}`,
			put(func(c *PutCommand) { c.Transaction, c.PutID, c.Mode = "t", "p", ModeAppend })},
		{`{"dataset":"x","sorted_by":["+-x","++y","+z","+","-+w","+++v"]}`, put(func(c *PutCommand) {
			c.SortedBy = []SortKey{{Column: "-x"}, {Column: "+y"}, {Column: "+z"}, {Column: "+"}, {Column: "+w", Descending: true}, {Column: "++v"}}
		})},
		{`{"dataset":"x","sorted_by":["--x"]}`, put(func(c *PutCommand) { c.SortedBy = []SortKey{{Column: "-x", Descending: true}} })},
	} {
		got, err := PutFromCommand([]byte(c.in))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.in, got, err, c.want)
			continue
		}
		checkRoundTrip(t, got, PutFromCommand, len(c.in))
	}
}

func TestPutFromCommandRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, "it is empty"},
		{`x`, "send a JSON object"},
		{`{}`, `put command: key "dataset" is missing`},
		{`{"dataset":"a/"}`, "segment 2 of 2"},
		{`{"dataset":"x","mode":"upsert"}`, `mode: want one of replace, append, create, got "upsert"`},
		{`{"dataset":"x","mode":""}`, "mode: want one of"},
		{`{"dataset":"x","codec":""}`, "codec: want one of none, lz4, zstd"},
		{`{"dataset":"x","codec":"snappy"}`, `got "snappy"`},
		{`{"dataset":"x","codec":"zstd","level":0}`, "level: want a whole number from 1 to 22, got 0"},
		{`{"dataset":"x","codec":"zstd","level":23}`, "got 23"},
		{`{"dataset":"x","codec":"zstd","level":"3"}`, `got "3"`},
		{`{"dataset":"x","codec":"lz4","level":3}`, `level: it goes with "codec": "zstd" only`},
		{`{"dataset":"x","level":3}`, `level: it goes with "codec": "zstd" only`},
		{`{"dataset":"x","encode":"later"}`, `encode: want one of now, deferred, got "later"`},
		{`{"dataset":"x","encode":true}`, "encode: want"},
		{`{"dataset":"x","batching":"none"}`, "batching: want one of auto, keep"},
		{`{"dataset":"x","durable":"yes"}`, `durable: want true or false, got "yes"`},
		{`{"dataset":"x","rows":-1}`, "rows: want a whole number from 0"},
		{`{"dataset":"x","rows":null}`, "got null"},
		{`{"dataset":"x","rows":1.5}`, "got 1.5"},
		{`{"dataset":"x","columns":["a"]}`, `unknown key "columns"; the keys are dataset, mode,`},
		{`{"dataset":"x","row":1}`, `did you mean "rows"?`},
		{`{"dataset":"x","mode":"append","mode":"append"}`, `key "mode" is given twice`},
		{`{"dataset":"x","sorted_by":"x"}`, `sorted_by: want a list of columns, such as ["x", "-y"], got "x"`},
		{`{"dataset":"x","sorted_by":[]}`, "sorted_by: it is empty"},
		{`{"dataset":"x","sorted_by":["a",0]}`, "sorted_by[1]: want a string, got 0"},
		{`{"dataset":"x","sorted_by":["+-a","--a"]}`, `sorted_by[1]: the column "-a" is named twice`},
		{`{"dataset":"x","sorted_by":["a","b","-a"]}`, `sorted_by[2]: the column "a" is named twice`},
		{`{"dataset":"x","sorted_by":["a"`, "ends too early"},
		{`{"dataset":"x","ttl":0}`, "ttl: want a whole number from 1 to 315360000, got 0"},
		{`{"dataset":"x","ttl":315360001}`, "got 315360001"},
		{`{"dataset":"x","ttl":0.5}`, "got 0.5"},
		{`{"dataset":"x","pin":1}`, "pin: want true or false, got 1"},
		{`{"dataset":"x","put_id":""}`, "put_id: want 1 to 255 bytes, got 0"},
		{`{"dataset":"x","put_id":7}`, "put_id: want a string, got 7"},
		{`{"dataset":"x","put_id":"` + strings.Repeat("p", 256) + `"}`, "put_id: want 1 to 255 bytes, got 256"},
		{`{"dataset":"x","transaction":""}`, "transaction: want 1 to 255 bytes, got 0"},
		{`{"dataset":"x","transaction":null}`, "got null"},
		{`{"dataset":"x"} {}`, "something follows the object"},
	} {
		got, err := PutFromCommand([]byte(c.in))
		checkRefused(t, err, ErrBadCommand, c.want)
		if !reflect.DeepEqual(got, PutCommand{}) {
			t.Errorf("%s: %+v beside an error", c.in, got)
		}
	}
}

func TestPutFromCommandLimits(t *testing.T) {
	_, err := Limits{CommandBytes: 14, Columns: 1}.PutFromCommand([]byte(`{"dataset":"x"}`))
	checkRefused(t, err, ErrBadCommand, "15 bytes; at most 14")
	_, err = Limits{CommandBytes: 100, Columns: 1}.PutFromCommand([]byte(`{"dataset":"x","sorted_by":["a","b"]}`))
	checkRefused(t, err, ErrBadCommand, "sorted_by: the list has more than 1 entries")
}

func TestPutCommandValidate(t *testing.T) {
	good := PutCommand{Dataset: "x"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []PutCommand{
		{}, {Dataset: "x", Mode: "upsert"}, {Dataset: "x", Codec: CodecLZ4, Level: 1}, {Dataset: "x", Rows: int64p(-1)},
		{Dataset: "x", Codec: CodecZstd, Level: 23}, {Dataset: "x", Batching: "none"}, {Dataset: "x", Encode: "later"}, {Dataset: "x", Codec: "snappy"},
		{Dataset: "x", SortedBy: []SortKey{}}, {Dataset: "x", TTL: -1}, {Dataset: "x", TTL: MaxTTL + 1},
		{Dataset: "x", PutID: strings.Repeat("p", 256)}, {Dataset: "x", SortedBy: []SortKey{{Column: "a"}, {Column: "a", Descending: true}}},
	} {
		if err := bad.Validate(); !errors.Is(err, ErrBadCommand) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestPutCommandRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := PutCommand{
			Dataset:  drawName(t),
			Mode:     rapid.SampledFrom([]Mode{ModeReplace, ModeAppend, ModeCreate}).Draw(t, "mode"),
			Codec:    rapid.SampledFrom([]Codec{"", CodecNone, CodecLZ4, CodecZstd}).Draw(t, "codec"),
			Batching: rapid.SampledFrom([]Batching{BatchingAuto, BatchingKeep}).Draw(t, "batching"),
			Rows:     rapid.Ptr(rapid.Int64Min(0), true).Draw(t, "rows"),
		}
		c.Encode = rapid.SampledFrom([]Encode{"", EncodeNow, EncodeDeferred}).Draw(t, "encode")
		c.TTL = rapid.Int64Range(0, MaxTTL).Draw(t, "ttl")
		c.Pin = rapid.Ptr(rapid.Bool(), true).Draw(t, "pin")
		c.Durable = rapid.Ptr(rapid.Bool(), true).Draw(t, "durable")
		c.PutID = rapid.StringMatching(`[a"ü/\n]{0,4}`).Draw(t, "put_id")
		if c.Transaction = rapid.StringMatching(`[A-Z]{0,4}`).Draw(t, "transaction"); c.Transaction != "" {
			c.Mode = rapid.SampledFrom([]Mode{"", ModeReplace, ModeAppend, ModeCreate}).Draw(t, "mode in it")
		}
		if c.Codec == CodecZstd {
			c.Level = rapid.IntRange(0, MaxLevel).Draw(t, "level")
		}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[-+a-c.ü"]{0,4}`), 0, 4, rapid.ID).Draw(t, "sorted by") {
			c.SortedBy = append(c.SortedBy, SortKey{Column: name, Descending: rapid.Bool().Draw(t, "descending")})
		}
		checkRoundTrip(t, c, PutFromCommand, math.MaxInt)
	})
}

func FuzzPutCommand(f *testing.F) {
	for _, s := range []string{
		`{"dataset":"sales/2024","mode":"append","codec":"zstd","level":3,"batching":"keep","rows":5000000}`,
		`{"dataset":"x","level":3}`, `{"dataset":"x","ttl":60,"pin":true}`, `{"dataset":"x","put_id":"p","transaction":"t","mode":"replace"}`,
		`{"dataset":"x","sorted_by":["a","-b"]}`, `{"dataset":"x","mode":"replace"}`, `{"rows":-1}`, ``, `{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := PutFromCommand(raw)
		if err != nil {
			if errors.Is(err, ErrBadCommand) == errors.Is(err, ErrNotYet) {
				t.Fatalf("error of no kind, or of two: %v", err)
			}
			return
		}
		checkRoundTrip(t, c, PutFromCommand, len(raw))
	})
}
