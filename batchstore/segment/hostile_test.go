package segment

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flightcache/flightcache/arrowipc"
)

// forged is a file whose footer says what it is made to say, intact by its checksum.
type forged struct {
	schema                *arrowipc.Schema
	front                 []byte // all before the footer
	facts                 []byte
	dictionaries, batches []arrowipc.Block
}

// forge takes a segment apart.
func forge(t testing.TB, schema *arrowipc.Schema, raw []byte) *forged {
	t.Helper()
	length := int(binary.LittleEndian.Uint32(raw[len(raw)-tailBytes:]))
	at := len(raw) - tailBytes - length
	footer, err := arrowipc.ReadFooter(raw[at:at+length], arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	facts, err := base64.StdEncoding.DecodeString(footer.Metadata[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	return &forged{schema, raw[:at], facts, footer.Dictionaries, footer.Batches}
}

// file puts it together.
func (x *forged) file(t testing.TB) []byte {
	t.Helper()
	raw, err := arrowipc.BuildFooter(x.schema, x.dictionaries, x.batches, []arrowipc.KeyValue{
		{Key: factsKey, Value: base64.StdEncoding.EncodeToString(x.facts)}, {Key: checksumKey, Value: "00000000"},
	})
	if err != nil {
		t.Fatal(err)
	}
	footer, err := arrowipc.ReadFooter(raw, footerLimits(arrowipc.Limits{}))
	if err == nil { // else it is refused before the checksum is looked at
		digits := footer.ValueAt(1)
		copy(raw[digits:], footerChecksum(raw, digits))
	}
	out := append(bytes.Clone(x.front), raw...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(raw)))
	return append(out, magic...)
}

// entries cuts the facts into what comes before the entries and the entries.
func (x *forged) entries(t testing.TB) (head []byte, dictionaries, batches [][]byte) {
	t.Helper()
	head = []byte{factsVersion}
	err := fields(x.facts[1:], func(field protowire.Number, number uint64, value []byte) error {
		switch field {
		case fieldSchema:
			head = protowire.AppendFixed32(protowire.AppendTag(head, field, protowire.Fixed32Type), uint32(number))
		case fieldSchemaBytes:
			head = appendNumber(head, field, number)
		case fieldDictionary:
			dictionaries = append(dictionaries, value)
		case fieldBatch:
			batches = append(batches, value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return head, dictionaries, batches
}

// joined is the facts of these entries.
func joined(head []byte, dictionaries, batches [][]byte) []byte {
	out := bytes.Clone(head)
	for _, e := range dictionaries {
		out = appendBytes(out, fieldDictionary, e)
	}
	for _, e := range batches {
		out = appendBytes(out, fieldBatch, e)
	}
	return out
}

// readAll reads all of a file that it says there is. Errors must be of a kind.
func readAll(t testing.TB, path string, open func(string, arrowipc.Limits) (*File, error)) (failed bool) {
	t.Helper()
	check := func(err error) bool {
		t.Helper()
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnsupported) {
			t.Fatalf("an error of no kind: %v", err)
		}
		failed = failed || err != nil
		return err == nil
	}
	f, err := open(path, arrowipc.Limits{})
	if !check(err) {
		return true
	}
	defer f.Close()
	for i := range f.Dictionaries() {
		_, _, facts, err := f.Dictionary(i)
		if check(err) && facts.Body < 1<<24 {
			body := make([]byte, facts.Body)
			if check(f.ReadDictionary(i, body)) && f.Foreign() {
				f.TrustDictionary(i, body)
				check(f.ReadDictionary(i, body))
			}
		}
	}
	n := len(f.Schema().Fields)
	for i := range f.Batches() {
		facts, err := f.Batch(i)
		if !check(err) || facts.Body > 1<<24 {
			continue
		}
		for _, b := range facts.Header.Buffers {
			if b.Offset < 0 || b.Length < 0 || b.Offset+b.Length > facts.Body {
				t.Fatalf("a buffer outside of its body: %+v", b)
			}
		}
		body := make([]byte, facts.Body)
		if n == 0 || !check(f.ReadBatch(i, &facts.Header, 0, n, body)) {
			continue
		}
		for c := 0; c < n && InOrder(&facts.Header); c++ {
			at, length := Range(f.Schema().Layout, &facts.Header, facts.Body, c, c+1)
			for range 2 {
				check(f.ReadBatch(i, &facts.Header, c, c+1, body[at:at+length]))
				if f.Foreign() {
					f.TrustColumn(i, c, body[at:at+length])
				}
			}
		}
	}
	return failed
}

// A file may be intact by its checksums and yet hostile: what it says is held against its schema and its size.
func TestHostileFacts(t *testing.T) {
	p := newPool(t, 1)
	r := seeded(t)
	c := randomContent(t, r, 2, 100)
	whole := filepath.Join(t.TempDir(), "whole.arrow")
	c.write(t, p, whole)
	raw, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if got := forge(t, c.schema, raw).file(t); !bytes.Equal(got, raw) {
		t.Fatal("a file that was taken apart is not put together as it was")
	}
	s := newShape(c.schema.Layout)
	good := c.batches[1]
	sums := runChecksums(s.layout, &good.facts.Header, good.body)
	head, dictionaries, batches := forge(t, c.schema, raw).entries(t)
	withBatch := func(e []byte) func(x *forged) {
		return func(x *forged) { x.facts = joined(head, dictionaries, [][]byte{batches[0], e}) }
	}
	cases := map[string]func(x *forged){
		"no facts":          func(x *forged) { x.facts = nil },
		"another version":   func(x *forged) { x.facts = slices.Concat([]byte{factsVersion + 1}, x.facts[1:]) },
		"cut off":           func(x *forged) { x.facts = x.facts[:len(x.facts)-1] },
		"no schema":         func(x *forged) { x.facts = joined([]byte{factsVersion}, dictionaries, batches) },
		"a batch less":      func(x *forged) { x.facts = joined(head, dictionaries, batches[:1]) },
		"a batch more":      func(x *forged) { x.facts = joined(head, dictionaries, append(batches, batches[0])) },
		"a dictionary less": func(x *forged) { x.facts = joined(head, dictionaries[:1], batches) },
		"no dictionaries": func(x *forged) {
			x.facts, x.dictionaries = joined(head, nil, batches), nil
		},
		"a dictionary more": func(x *forged) {
			// The bytes of the first batch stand for it.
			x.facts = joined(head, append(dictionaries, batches[0]), batches[1:])
			x.dictionaries, x.batches = append(x.dictionaries, x.batches[0]), x.batches[1:]
		},
		"an empty entry":            withBatch([]byte{}),
		"an unknown wire type":      withBatch([]byte{0x0C}),
		"a body of another length":  withBatch(appendEntry(nil, s, &Facts{Header: good.facts.Header, Body: good.facts.Body + 8}, 0, sums, "")),
		"fewer checksums":           withBatch(appendEntry(nil, s, &good.facts, 0, sums[1:], "")),
		"an identity without end":   withBatch(appendEntry(nil, s, &good.facts, 0, sums, string(make([]byte, maxUID+1)))),
		"blocks that overlap":       func(x *forged) { x.batches[1].Offset -= 8 },
		"a block in the schema":     func(x *forged) { x.batches[0].Offset = 16 },
		"a block before the file":   func(x *forged) { x.batches[0].Offset = 0 },
		"a block beyond the footer": func(x *forged) { x.batches[1].Body += 64 },
		"a block without end":       func(x *forged) { x.batches[1].Body = 1<<63 - 1 },
		"a negative block":          func(x *forged) { x.batches[1].Offset = -64 },
		"a header of another place": func(x *forged) { x.batches[1].Header -= 8 },
	}
	for name, facts := range wrongFacts(good.facts) {
		cases[name] = withBatch(appendEntry(nil, s, &facts, 0, sums, ""))
	}
	for name, change := range cases {
		x := forge(t, c.schema, raw)
		change(x)
		path := put(t, folder, x.file(t))
		if !readAll(t, path, p.Open) || !readAll(t, path, p.OpenAny) {
			t.Errorf("%s: it was read", name)
		}
	}
}

// FuzzFacts puts any facts and any blocks into the footer of a segment, with a checksum that is right.
func FuzzFacts(f *testing.F) {
	p := newPool(f, 1)
	c, raw := fixed(f, p, 5, 2, 30)
	x := forge(f, c.schema, raw)
	folder := f.TempDir()
	f.Add(x.facts, []byte(nil))
	head, dictionaries, batches := x.entries(f)
	f.Add(joined(head, dictionaries, batches[:1]), []byte{0x80, 1, 3, 5})
	f.Fuzz(func(t *testing.T, facts, moves []byte) {
		y := *x
		y.facts = facts
		y.dictionaries, y.batches = slices.Clone(x.dictionaries), slices.Clone(x.batches)
		for len(moves) >= 3 { // which block, what of it, and by how much
			list := y.batches
			if moves[0]&1 == 0 {
				list = y.dictionaries
			}
			b, by := &list[int(moves[0]/2)%len(list)], int64(int8(moves[2]))*8
			switch moves[1] % 5 {
			case 0:
				b.Offset += by
			case 1:
				b.Header += int32(by)
			case 2:
				b.Body += by
			case 3:
				b.Offset <<= moves[2] & 63
			case 4:
				b.Body <<= moves[2] & 63
			}
			moves = moves[3:]
		}
		path := put(t, folder, y.file(t))
		same := bytes.Equal(facts, x.facts) && slices.Equal(y.batches, x.batches) && slices.Equal(y.dictionaries, x.dictionaries)
		if readAll(t, path, p.Open) && same {
			t.Fatal("the file as it was written cannot be read")
		}
	})
}

// FuzzOpen opens any bytes, as a segment and as another program's file, and reads all that they say there is.
func FuzzOpen(f *testing.F) {
	p := newPool(f, 1)
	_, raw := fixed(f, p, 6, 1, 20)
	folder := f.TempDir()
	f.Add(raw)
	for _, raw := range arrowFiles(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := put(t, folder, raw)
		readAll(t, path, p.Open)
		readAll(t, path, p.OpenAny)
	})
}
