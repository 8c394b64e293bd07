package descriptors

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func int64p(n int64) *int64 { return &n }

func TestReadFromCommandTakes(t *testing.T) {
	for _, c := range []struct {
		in   string
		want ReadCommand
	}{
		{`{"dataset":"sales/2024"}`, ReadCommand{Dataset: "sales/2024"}},
		{" \t\r\n{ \"dataset\" : \"x\" }\n", ReadCommand{Dataset: "x"}},
		{`{"\u0064ataset":"gr\u00f6\u00dfe\ud83d\udeeb"}`, ReadCommand{Dataset: "größe🛫"}},
		{`{"limit":0,"dataset":"x","generation":"3f-12"}`, ReadCommand{Dataset: "x", Generation: "3f-12", Limit: int64p(0)}},
		{`{"dataset":"x","dictionaries":"decode"}`, ReadCommand{Dataset: "x", Dictionaries: DictionariesDecode}},
		{`{"dataset":"x","limit":9007199254740993}`, ReadCommand{Dataset: "x", Limit: int64p(9007199254740993)}},
		{`{"dataset":"x","limit":9223372036854775807}`, ReadCommand{Dataset: "x", Limit: int64p(math.MaxInt64)}},
		{`{"dataset":"x","columns":[]}`, ReadCommand{Dataset: "x", Columns: []Column{}}},
		{`{"dataset":"x","columns":["a","deep.n.v",3,"",0,"a","\\ud800 \u0000\"/"]}`, ReadCommand{Dataset: "x", Columns: []Column{
			{Name: "a"}, {Name: "deep.n.v"}, {Ordinal: 3, IsOrdinal: true}, {}, {IsOrdinal: true}, {Name: "a"},
			{Name: "\\ud800 \x00\"/"},
		}}},
		{`{"dataset":"x","columns":[2147483647]}`, ReadCommand{Dataset: "x", Columns: []Column{{Ordinal: math.MaxInt32, IsOrdinal: true}}}},
		{`{"dataset":"x","wire":"none"}`, ReadCommand{Dataset: "x", Wire: WireNone}},
		{`{"dataset":"x","wire":"stored"}`, ReadCommand{Dataset: "x", Wire: WireStored}},
		{`{"dataset":"x","wire":"zstd"}`, ReadCommand{Dataset: "x", Wire: WireZstd}},
		{`{"dataset":"x","wire":"lz4"}`, ReadCommand{Dataset: "x", Wire: WireLZ4}},
		{`{"dataset":"x","max_message_bytes":65536}`, ReadCommand{Dataset: "x", MaxMessageBytes: MinMessageBytes}},
		{`{"dataset":"x","max_message_bytes":2147483647}`, ReadCommand{Dataset: "x", MaxMessageBytes: MaxMessageBytes}},
		{`{"dataset":"x","batch_metadata":true}`, ReadCommand{Dataset: "x", BatchMetadata: true}},
		{`{"dataset":"x","batch_metadata":false}`, ReadCommand{Dataset: "x"}},
		{`{"dataset":"x","substrait":"AAEC/w=="}`, ReadCommand{Dataset: "x", Substrait: []byte{0, 1, 2, 255}}},
		{`{"dataset":"x","prune_only":true,"count":"exact"}`, ReadCommand{Dataset: "x", PruneOnly: true, Count: CountExact}},
		{`{"dataset":"x","prune_only":false,"statistics":false}`, ReadCommand{Dataset: "x"}},
		{`{"dataset":"x","statistics":true}`, ReadCommand{Dataset: "x", Statistics: true}},
		{`{"dataset":"x","partitions":1}`, ReadCommand{Dataset: "x", Partitions: 1}},
		{`{"dataset":"x","partitions":65536}`, ReadCommand{Dataset: "x", Partitions: MaxPartitions}},
	} {
		got, err := ReadFromCommand([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.in, got, c.want)
		}
		checkRoundTrip(t, got, ReadFromCommand, len(c.in))
	}
}

func TestReadFromCommandRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		// The object.
		{``, "it is empty"},
		{" \n", "it is empty"},
		{`SELECT 1`, `8 bytes that begin with "SELECT 1"`},
		{`["x"]`, "send a JSON object such as"},
		{`"x"`, "send a JSON object such as"},
		{`null`, "send a JSON object such as"},
		{"\ufeff{}", "send a JSON object such as"},
		{`{`, "ends too early, at byte 1"},
		{`{"dataset":"x"`, "ends too early"},
		{`{"dataset":"x`, "ends too early"},
		{`{"dataset"}`, "not JSON"},
		{`{"dataset":"x",}`, "not JSON"},
		{`{,"dataset":"x"}`, "not JSON"},
		{`{"dataset":"x"]`, "not JSON"},
		{`{dataset:"x"}`, "not JSON"},
		{`{'dataset':'x'}`, "not JSON"},
		{`{1:2}`, "not JSON"},
		{`{"dataset":"x" "limit":1}`, "not JSON"},
		{`{"dataset":"x"}/**/`, "something follows the object"},
		{`{"dataset":"x"}{}`, "something follows the object"},
		{`{"dataset":"x"} x`, "something follows the object"},
		{`{"dataset":"x"}` + "\x00", "something follows the object"},
		{`{"dataset":"x"}}`, "something follows the object"},
		{"{\"dataset\":\"\xff\"}", "not valid UTF-8"},
		{"{\"dataset\":\"a\nb\"}", "not JSON"},
		{`{"dataset":"\x"}`, "not JSON"},
		{`{"dataset":"\u12"}`, "not JSON"},
		{`{"dataset":"\ud800"}`, "half of a surrogate pair"},
		{`{"dataset":"\udc00"}`, "half of a surrogate pair"},
		{`{"dataset":"\ud800\u0041"}`, "half of a surrogate pair"},
		{`{"dataset":"\ud800\ud800\udc00"}`, "escape at byte 12"},
		{`{"dataset":"\\\uD800"}`, "half of a surrogate pair"},
		{`{"dataset":"\uDBFF`, "half of a surrogate pair"},

		// Keys.
		{`{}`, `key "dataset" is missing`},
		{`{"columns":["a"]}`, `key "dataset" is missing`},
		{`{"dataset":"x","colums":["a"]}`, `unknown key "colums"; did you mean "columns"?`},
		{`{"dataset":"x","Columns":["a"]}`, `unknown key "Columns"; did you mean "columns"?`},
		{`{"dataste":"x"}`, `did you mean "dataset"?`},
		{`{"dataset":"x","maxMessageBytes":1}`, `did you mean "max_message_bytes"?`},
		{`{"dataset":"x","filter":1}`, `did you mean "filters"?`},
		{`{"dataset":"x","":1}`, `unknown key ""; the keys are dataset, generation,`},
		{`{"dataset":"x","something_else":1}`, "the keys are dataset, generation,"},
		{`{"dataset":"x","` + strings.Repeat("y", 1000) + `":1}`, "the keys are"},
		{`{"dataset":"x","dataset":"x"}`, `key "dataset" is given twice`},
		{`{"dataset":"x","limit":1,"\u006cimit":2}`, `key "limit" is given twice`},

		// Values.
		{`{"dataset":7}`, "dataset: want a string, got 7"},
		{`{"dataset":null}`, "dataset: want a string, got null"},
		{`{"dataset":["x"]}`, "dataset: want a string, got a list"},
		{`{"dataset":{"x":1}}`, "dataset: want a string, got an object"},
		{`{"dataset":""}`, "segment 1 of 1"},
		{`{"dataset":"a//b"}`, "segment 2 of 3"},
		{`{"dataset":"\u0001"}`, "U+0001"},
		{`{"dataset":"x","generation":""}`, "generation: it is empty"},
		{`{"dataset":"x","generation":12}`, "generation: want a string, got 12"},
		{`{"dataset":"x","generation":"` + strings.Repeat("g", 256) + `"}`, "has 256 bytes; at most 255"},
		{`{"dataset":"x","columns":null}`, "columns: want a list of names, dotted paths or ordinals, got null"},
		{`{"dataset":"x","columns":"a"}`, `columns: want a list of names, dotted paths or ordinals, got "a"`},
		{`{"dataset":"x","columns":{}}`, "columns: want a list"},
		{`{"dataset":"x","columns":["a","b",true]}`, "columns[2]: want a name, dotted path or ordinal (0 or more), got true"},
		{`{"dataset":"x","columns":[null]}`, "columns[0]: want a name"},
		{`{"dataset":"x","columns":[["a"]]}`, "columns[0]: want a name, dotted path or ordinal (0 or more), got a list"},
		{`{"dataset":"x","columns":[{"name":"a"}]}`, "got an object"},
		{`{"dataset":"x","columns":[-1]}`, "got -1"},
		{`{"dataset":"x","columns":[1.0]}`, "got 1.0"},
		{`{"dataset":"x","columns":[1e0]}`, "got 1e0"},
		{`{"dataset":"x","columns":[2147483648]}`, "got 2147483648"},
		{`{"dataset":"x","columns":[1,]}`, "not JSON"},
		{`{"dataset":"x","columns":[1 2]}`, "not JSON"},
		{`{"dataset":"x","columns":["a"`, "ends too early"},
		{`{"dataset":"x","columns":[`, "ends too early"},
		{`{"dataset":"x","columns":}`, "not JSON"},
		{`{"dataset":"x","wire":"gzip"}`, `wire: want one of none, stored, zstd, lz4, got "gzip"`},
		{`{"dataset":"x","wire":""}`, "wire: want one of"},
		{`{"dataset":"x","wire":"ZSTD"}`, "wire: want one of"},
		{`{"dataset":"x","wire":null}`, "got null"},
		{`{"dataset":"x","max_message_bytes":65535}`, "max_message_bytes: want a whole number from 65536 to 2147483647, got 65535"},
		{`{"dataset":"x","max_message_bytes":2147483648}`, "got 2147483648"},
		{`{"dataset":"x","max_message_bytes":0}`, "got 0"},
		{`{"dataset":"x","max_message_bytes":"1MiB"}`, `got "1MiB"`},
		{`{"dataset":"x","batch_metadata":1}`, "batch_metadata: want true or false, got 1"},
		{`{"dataset":"x","batch_metadata":"true"}`, "batch_metadata: want true or false"},
		{`{"dataset":"x","limit":-1}`, "limit: want a whole number from 0 to"},
		{`{"dataset":"x","limit":1e3}`, "got 1e3"},
		{`{"dataset":"x","limit":10.0}`, "got 10.0"},
		{`{"dataset":"x","limit":9223372036854775808}`, "got 9223372036854775808"},
		{`{"dataset":"x","limit":` + strings.Repeat("9", 1000) + `}`, "9…"},
		{`{"dataset":"x","limit":01}`, "not JSON"},
		{`{"dataset":"x","wire":`, "ends too early"},
		{`{"dataset":"x","batch_metadata":tru}`, "not JSON"},
		{`{"dataset":"x","limit":+1}`, "not JSON"},
		{`{"dataset":"x","limit":NaN}`, "not JSON"},
		{`{"dataset":"x","substrait":7}`, "substrait: want a string, got 7"},
		{`{"dataset":"x","substrait":""}`, "substrait: it is empty; leave the key out"},
		{`{"dataset":"x","substrait":"AA"}`, `substrait: it is not base64 of the standard alphabet, padded, in one line: "AA"`},
		{`{"dataset":"x","substrait":"AB=="}`, "not base64"}, // bits after the end
		{`{"dataset":"x","substrait":"A-_="}`, "not base64"},
		{`{"dataset":"x","substrait":"AAAA\nAAAA"}`, "not base64"},
		{`{"dataset":"x","substrait":"AAAA\r\n"}`, "not base64"},
		{`{"dataset":"x","substrait":"AAAA","filters":[["k","=",5]]}`, "filters and substrait are both given"},
		{`{"dataset":"x","prune_only":1}`, "prune_only: want true or false, got 1"},
		{`{"dataset":"x","count":true}`, "count: want one of exact, got true"},
		{`{"dataset":"x","count":""}`, "count: want one of exact"},
		{`{"dataset":"x","statistics":"all"}`, "statistics: want true or false"},
		{`{"dataset":"x","partitions":0}`, "partitions: want a whole number from 1 to 65536, got 0"},
		{`{"dataset":"x","partitions":65537}`, "got 65537"},
	} {
		got, err := ReadFromCommand([]byte(c.in))
		checkRefused(t, err, ErrBadCommand, c.want)
		if !reflect.DeepEqual(got, ReadCommand{}) {
			t.Errorf("%s: %+v beside an error", c.in, got)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%.60s: a message of %d bytes", c.in, len(err.Error()))
		}
	}
}

func TestReadCommandWithBadNameIsBoth(t *testing.T) {
	_, err := ReadFromCommand([]byte(`{"dataset":"a/./b"}`))
	checkRefused(t, err, ErrBadCommand, "read command: dataset: ")
	checkRefused(t, err, ErrBadName, "segment 2 of 3")
}

func TestReadFromCommandLimits(t *testing.T) {
	small := Limits{CommandBytes: 65, Columns: 2, Literals: 3}
	for _, c := range []struct{ in, want string }{
		{`{"dataset":"x","columns":[0,1]}`, ""},
		{`{"dataset":"x","columns":[0,1,2]}`, "more than 2 entries"},
		{`{"dataset":"x"}` + strings.Repeat(" ", 50), ""},
		{`{"dataset":"x"}` + strings.Repeat(" ", 51), "66 bytes; at most 65"},
		{`{"dataset":"x","filters":[["a","in",[1,2]]]}`, ""},
		{`{"dataset":"x","filters":[["a","in",[1,2,3]]]}`, "filters[0][2]: the filters have more than 3 literals"},
		{`{"dataset":"x","filters":[[0,"=",1],[0,"in",[]],[0,"=",1]]}`, ""},
		{`{"dataset":"x","filters":[[0,"is null"],[0,"=",1],[0,"in",[1]]]}`, "filters[2][0]: the filters have more"},
	} {
		_, err := small.ReadFromCommand([]byte(c.in))
		if c.want != "" {
			checkRefused(t, err, ErrBadCommand, c.want)
		} else if err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
	}
}

func TestReadFromCommandStopsAtTheFirstNestedValue(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		deep := strings.Repeat(open, 100_000)
		_, err := ReadFromCommand([]byte(`{"dataset":"x","columns":[` + deep))
		checkRefused(t, err, ErrBadCommand, "columns[0]: want a name")
		_, err = ReadFromCommand([]byte(`{"dataset":"x","filters":[[[` + deep))
		checkRefused(t, err, ErrBadCommand, "filters[0][0]: want a name")
		_, err = ReadFromCommand([]byte(`{"dataset":"x","filters":[["k","in",[` + deep))
		checkRefused(t, err, ErrBadCommand, "filters[0][0]: want a number")
	}
}

func TestLimitsValidateReportsAll(t *testing.T) {
	if err := DefaultLimits().Validate(); err != nil {
		t.Error(err)
	}
	err := Limits{CommandBytes: 0, Columns: -1, Literals: 0}.Validate()
	for _, field := range []string{"CommandBytes is 0", "Columns is -1", "Literals is 0"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not say %q", err, field)
		}
	}
}

func TestReadCommandValidate(t *testing.T) {
	for _, c := range []struct {
		command ReadCommand
		want    string
	}{
		{ReadCommand{Dataset: "x", Columns: []Column{{Ordinal: 1, IsOrdinal: true}}, Limit: int64p(3)}, ""},
		{ReadCommand{}, "dataset"},
		{ReadCommand{Dataset: "x", Limit: int64p(-3)}, "limit"},
		{ReadCommand{Dataset: "x", Wire: "gzip"}, "wire"},
		{ReadCommand{Dataset: "x", MaxMessageBytes: -1}, "max_message_bytes"},
		{ReadCommand{Dataset: "x", Columns: []Column{{Ordinal: -1, IsOrdinal: true}}}, "columns[0]"},
		{ReadCommand{Dataset: "x", Columns: []Column{{Name: "\xff"}}}, "not valid UTF-8"},
		{ReadCommand{Dataset: "x", Filter: Filter{}}, "filters: it is empty"},
		{ReadCommand{Dataset: "x", Filter: Filter{{}}}, "filters: it is empty"},
		{ReadCommand{Dataset: "x", Filter: Filter{{{Column: Column{Name: "k"}, Op: "~"}}}}, "filters[0]: want an operator"},
		{ReadCommand{Dataset: "x", Filter: Filter{{{Op: OpIn, Values: []Literal{{Kind: LiteralNumber, Text: "12"}}}}}}, ""},
		{ReadCommand{Dataset: "x", Filter: Filter{{{Op: OpEqual, Value: Literal{Kind: LiteralNumber, Text: "x"}}}}}, "not JSON"},
		{ReadCommand{Dataset: "x", Substrait: []byte{}}, "substrait: it is empty"},
		{ReadCommand{Dataset: "x", Substrait: make([]byte, 3), Filter: Filter{{{Op: OpIsNull}}}}, "both given"},
		{ReadCommand{Dataset: "x", Substrait: make([]byte, MaxSubstraitBytes)}, "at most 1048576"},
		{ReadCommand{Dataset: "x", Partitions: -1}, "partitions"},
		{ReadCommand{Dataset: "x", Count: "estimate"}, "count"},
		{ReadCommand{Dataset: `x","limit":1,"generation":"`, Generation: "y"}, ""},
	} {
		err := c.command.Validate()
		if c.want != "" {
			checkRefused(t, err, ErrBadCommand, c.want)
		} else if err != nil {
			t.Errorf("%+v: %v", c.command, err)
		}
	}
}

func TestReadCommandMarshalIsCanonical(t *testing.T) {
	c := ReadCommand{
		Dataset: "s/ü\"", Generation: "g\\1", Columns: []Column{{Name: "a\b\t\n\f\r\x01\x1f\u2028\x7f"}, {Ordinal: 2, IsOrdinal: true}},
		Wire: WireLZ4, MaxMessageBytes: 70000, BatchMetadata: true, Limit: int64p(5),
		PruneOnly: true, Count: CountExact, Statistics: true, Partitions: 3, Substrait: []byte{255},
	}
	const want = `{"dataset":"s/ü\"","generation":"g\\1","columns":["a\b\t\n\f\r\u0001\u001f` + "\u2028\x7f" +
		`",2],"wire":"lz4","max_message_bytes":70000,"batch_metadata":true,"limit":5,` +
		`"substrait":"/w==","prune_only":true,"count":"exact","statistics":true,"partitions":3}`
	if got := string(c.Marshal()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestColumnString(t *testing.T) {
	for want, c := range map[string]Column{`"deep.\"n\""`: {Name: `deep."n"`}, `""`: {}, "7": {Ordinal: 7, IsOrdinal: true}} {
		if got := c.String(); got != want {
			t.Errorf("%+v is written %s, want %s", c, got, want)
		}
	}
}

func TestReadCommandRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkRoundTrip(t, drawRead(t), ReadFromCommand, math.MaxInt)
	})
}

func drawColumn(t *rapid.T) Column {
	if rapid.Bool().Draw(t, "ordinal") {
		return Column{Ordinal: rapid.IntRange(0, math.MaxInt32).Draw(t, "n"), IsOrdinal: true}
	}
	return Column{Name: rapid.String().Draw(t, "name")}
}

// drawRead draws a valid read command.
func drawRead(t *rapid.T) ReadCommand {
	column := rapid.Custom(drawColumn)
	c := ReadCommand{
		Dataset:         drawName(t),
		Generation:      rapid.StringN(0, 20, MaxGenerationBytes).Draw(t, "generation"),
		Wire:            rapid.SampledFrom([]Wire{"", WireNone, WireStored, WireZstd, WireLZ4}).Draw(t, "wire"),
		MaxMessageBytes: rapid.SampledFrom([]int{0, MinMessageBytes, 1 << 22, MaxMessageBytes}).Draw(t, "max"),
		BatchMetadata:   rapid.Bool().Draw(t, "metadata"),
		Limit:           rapid.Ptr(rapid.Int64Min(0), true).Draw(t, "limit"),
	}
	if rapid.Bool().Draw(t, "some columns") {
		c.Columns = append([]Column{}, rapid.SliceOf(column).Draw(t, "columns")...)
	}
	c.PruneOnly = rapid.Bool().Draw(t, "prune only")
	c.Count = rapid.SampledFrom([]Count{"", CountExact}).Draw(t, "count")
	c.Statistics = rapid.Bool().Draw(t, "statistics")
	c.Partitions = rapid.SampledFrom([]int{0, 1, 7, MaxPartitions}).Draw(t, "partitions")
	switch rapid.IntRange(0, 2).Draw(t, "rows") {
	case 1:
		c.Filter = drawFilter(t)
	case 2:
		c.Substrait = rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "substrait")
	}
	return c
}

type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkRoundTrip checks the canonical form of a valid command that came from a text of most bytes.
func checkRoundTrip[C any, P interface {
	*C
	Marshal() []byte
}](t reporter, c C, parse func([]byte) (C, error), most int) {
	t.Helper()
	text := P(&c).Marshal()
	if len(text) > most {
		t.Errorf("canonical form of %d bytes, from %d: %s", len(text), most, text)
	}
	again, err := parse(text)
	if err != nil || !reflect.DeepEqual(again, c) {
		t.Errorf("%s parses to\n     %+v, %v\nwant %+v", text, again, err, c)
	}
}

func FuzzReadCommand(f *testing.F) {
	for _, s := range []string{
		`{"dataset":"sales/2024","columns":["a","b.c",3],"limit":10,"wire":"stored"}`,
		`{"dataset":"x","generation":"g","max_message_bytes":4194304,"batch_metadata":true}`,
		`{"dataset":"\ud83d\udeeb\\u","columns":[]}`, `{"dataset":"x","columns":["\ud800"]}`,
		`{"dataset":"x","filters":[["k","==",5.0e-3],[0,"in",["a",null,true]]],"partitions":4}`, `{"colums":[]}`,
		`{"dataset":"x","filters":[[["k","is null"]],[["s","starts with","ü"],["k","not in",[]]]],"prune_only":true}`,
		`{"dataset":"x","substrait":"AAEC/w==","count":"exact","statistics":true}`,
		`{"dataset":"x","filters":[["k","=",[]],[[[`, `{"dataset":"x","filters":[[],{}],"substrait":"A\n==="}`, "\n\x2atype.googleapis.com/x", ``, `{`, `{}{}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ReadFromCommand(raw)
		if err != nil {
			if errors.Is(err, ErrBadCommand) == errors.Is(err, ErrNotYet) {
				t.Fatalf("error of no kind, or of two: %v", err)
			}
			return
		}
		checkRoundTrip(t, c, ReadFromCommand, len(raw))
	})
}

func boolp(b bool) *bool { return &b }
