package batchstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/compress"
)

// loading makes a store without a folder, which serves files in place. When the test ends, memory must be empty.
func loading(t *testing.T, o Options) *Store {
	t.Helper()
	o.Load = true
	s := open(t, o)
	t.Cleanup(func() { noDictionaries(t, s) })
	return s
}

// anotherProgram writes batches of one dictionary state to a file as if another program had: without facts and checksums.
func anotherProgram(t *testing.T, path string, schema *arrowipc.Schema, batches []*Batch) {
	t.Helper()
	pool := segment.NewPool(1)
	defer pool.Close()
	writeSegment(t, pool, path, schema, batches)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := len(raw) - 10
	at := end - int(binary.LittleEndian.Uint32(raw[end:]))
	footer, err := arrowipc.ReadFooter(raw[at:end], arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := arrowipc.BuildFooter(schema, footer.Dictionaries, footer.Batches, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw[:at], plain...)
	raw = binary.LittleEndian.AppendUint32(raw, uint32(len(plain)))
	if err := os.WriteFile(path, append(raw, "ARROW1"...), 0o666); err != nil {
		t.Fatal(err)
	}
}

// mustLoad loads a file.
func mustLoad(t *testing.T, s *Store, path string) (*arrowipc.Schema, []*Batch) {
	t.Helper()
	schema, batches, err := s.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return schema, batches
}

// Files of every type, plain and with dictionaries, of another program or segments, are read in every form, and told of from
// their metadata.
func TestLoad(t *testing.T) {
	codecs := []compress.Codec{compress.None, compress.LZ4, compress.Zstd}
	step := 1
	if underRace {
		step = 5 // each codec once, with dictionaries and without
	}
	for _, x := range someShapes(2) {
		t.Run(x.name, func(t *testing.T) {
			r := seeded(t)
			for round := 0; round < 12; round += step {
				s := loading(t, Options{MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, MaxDecoded: 1 << 26})
				from := newStore(t, Options{MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, MaxBatchRows: int64(20 + r.IntN(100)), MaxDecoded: 1 << 26})
				o := IngestOptions{Codec: codecs[round%3], KeepBatches: r.IntN(2) == 0}
				var schema *arrowipc.Schema
				var made []*Batch
				var err error
				if round < 6 {
					schema = schemaOf(t, str, x.dt, i64, structOf(x.dt, i8))
					made, err = put(t, from, schema, o, plainly, randomPlain(r, schema.Layout, 60), randomPlain(r, schema.Layout, 1+r.Int64N(200)))
				} else {
					schema = randomDictSchema(t, r, x)
					in := begin(t, from, schema, o)
					newDictModel(t, r, schema).run(in)
					made, err = in.Finish(context.Background())
				}
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for n < len(made) && slices.Equal(made[n].dicts, made[0].dicts) {
					n++
				}
				if n == 0 {
					continue
				}
				path := filepath.Join(t.TempDir(), "loaded.arrow")
				if round%2 == 0 {
					anotherProgram(t, path, schema, made[:n])
				} else {
					pool := segment.NewPool(1)
					writeSegment(t, pool, path, schema, made[:n])
					pool.Close()
				}
				got, loaded := mustLoad(t, s, path)
				if d := got.Diff(schema); d != "" || len(loaded) != n {
					t.Fatalf("%d batches of %d, schema: %s", len(loaded), n, d)
				}
				requireSameFacts(t, loaded, made[:n], round < 6 && o.Codec != compress.None)
				for range 4 {
					picks := randomPicks(r, schema.Fields)
					for i := range picks {
						if schema.Fields[picks[i].Ordinal].Dictionary != nil {
							picks[i].Children = nil
						}
					}
					p, err := schema.Project(picks)
					if err != nil {
						t.Fatal(err)
					}
					form := ReadOptions{
						Accept: func(compress.Codec) bool { return round < 6 },
						Encode: codecs[r.IntN(3)], MaxMessage: []int64{0, 64 << 10, 1 << 20}[r.IntN(3)],
					}
					want, _ := readAll(t, from, schema.Layout, p, form, made[:n], math.MaxInt64)
					rows, _ := readAll(t, s, got.Layout, p, form, loaded, math.MaxInt64)
					if !slices.Equal(rows, want) {
						t.Fatalf("rows differ:\n got %q\nwant %q", rows, want)
					}
					if _, err := s.Unload(got, loaded); err != nil { // what came back to memory
						t.Fatal(err)
					}
				}
				releaseAll(loaded)
				releaseAll(made)
				if _, err := os.Stat(path); err != nil {
					t.Fatalf("the file is gone: %v", err)
				}
			}
		})
	}
}

// requireSameFacts compares what is told of loaded batches with what is told of those that they are.
func requireSameFacts(t *testing.T, loaded, made []*Batch, exact bool) {
	t.Helper()
	for i, b := range loaded {
		want := made[i]
		if b.Rows() != want.Rows() || b.Codec() != want.Codec() || !slices.Equal(b.stored, want.stored) {
			t.Fatalf("batch %d: %+v, want %+v", i, b.header, want.header)
		}
		for k := range b.decoded {
			// What was kept as it came has padding in its lengths, of which only the values tell.
			if n, least := b.Node(k).Decoded, want.Node(k).Decoded; n < least || exact && n != least || n > least+3*maxPadding {
				t.Fatalf("batch %d, node %d: %d bytes decoded, want %d", i, k, n, least)
			}
			if b.Node(k).Nulls != want.Node(k).Nulls {
				t.Fatalf("batch %d, node %d: %d nulls, want %d", i, k, b.Node(k).Nulls, want.Node(k).Nulls)
			}
		}
		if measured := b.Statistics(); measured != nil && !slices.Equal(measured, want.Statistics()) {
			t.Fatalf("batch %d has other statistics", i)
		}
		for k, d := range b.dicts {
			if d.ordinal != want.dicts[k].ordinal || exact && d.Decoded() != want.dicts[k].Decoded() {
				t.Fatalf("batch %d: dictionary %d of %d bytes, want %d of %d", i, d.ordinal, d.Decoded(), want.dicts[k].ordinal, want.dicts[k].Decoded())
			}
		}
	}
}

// handmadeFile writes one plain batch, whatever it holds, as another program might.
func handmadeFile(t *testing.T, s *Store, schema *arrowipc.Schema, dictionaries map[int64]*plainBatch, batches ...*plainBatch) string {
	t.Helper()
	var builder arrowipc.HeaderBuilder
	raw := append([]byte("ARROW1\x00\x00"), schema.Encapsulated()...)
	var places [2][]arrowipc.Block
	add := func(kind int, header, body []byte) {
		places[kind] = append(places[kind], arrowipc.Block{Offset: int64(len(raw)), Header: int32(8 + len(header)), Body: int64(len(body))})
		raw = binary.LittleEndian.AppendUint32(append(raw, 0xFF, 0xFF, 0xFF, 0xFF), uint32(len(header)))
		raw = append(append(raw, header...), body...)
	}
	for id, d := range dictionaries {
		m, body := s.message(t, d, compress.None)
		add(0, builder.DictionaryBatch(id, false, m.Batch, m.BodyLength), body)
	}
	for _, b := range batches {
		m, body := s.message(t, b, compress.None)
		add(1, builder.RecordBatch(m.Batch, m.BodyLength, nil), body)
	}
	footer, err := arrowipc.BuildFooter(schema, places[0], places[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	raw = append(binary.LittleEndian.AppendUint32(append(raw, footer...), uint32(len(footer))), "ARROW1"...)
	path := filepath.Join(t.TempDir(), "handmade.arrow")
	if err := os.WriteFile(path, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is wrong in a column is found when it is read first, and only then: the others can be read.
func TestLoadedColumnsAreChecked(t *testing.T) {
	s := loading(t, Options{})
	good := texts("Oslo", "Rome", "Lima")
	encoded := encodedWith(1, 8, true, fieldOf(t, "d", str))
	schema := buildSchema(t, fieldOf(t, "k", i64), fieldOf(t, "s", str), encoded)
	batch := func(offset, index int64) *plainBatch {
		bad := texts("Oslo", "Rome", "Lima")
		bad.bufs[1] = ints(4, 0, offset, 8, 12)
		x := indices(1, 0, 1, index)
		return &plainBatch{
			rows: 3, nodes: nodes(3, 3, 3), bufs: slices.Concat(numbers(3).bufs, bad.bufs, x.bufs),
		}
	}
	path := handmadeFile(t, s, schema, map[int64]*plainBatch{1: good}, batch(4, 2), batch(9, 2), batch(4, 3), batch(4, -1))
	_, batches := mustLoad(t, s, path)
	defer releaseAll(batches)
	for i, broken := range []string{"", "s", "d", "d"} {
		for ordinal, name := range []string{"k", "s", "d"} {
			p, err := schema.Project([]arrowipc.Pick{{Ordinal: ordinal}})
			if err != nil {
				t.Fatal(err)
			}
			reader := s.Reader(schema.Layout, p, ReadOptions{})
			err = reader.Read(batches[i], 3, func(*Message) error { return nil })
			reader.Close()
			switch {
			case name != broken && err != nil:
				t.Errorf("batch %d, column %s: %v", i, name, err)
			case name == broken && (!errors.Is(err, segment.ErrDamaged) || errors.Is(err, ErrInvalidBatch) ||
				!strings.Contains(err.Error(), fmt.Sprintf("handmade.arrow: batch %d", i)) || !strings.Contains(err.Error(), fmt.Sprintf("%q", name))):
				t.Errorf("batch %d, column %s: %v", i, name, err)
			}
		}
	}
}

// A dictionary is checked like a batch, and so are its own indices into another.
func TestLoadedDictionariesAreChecked(t *testing.T) {
	broken := texts("a", "b")
	broken.bufs[1] = ints(4, 0, 2, 1)
	inner := encodedWith(2, 8, true, fieldOf(t, "item", str))
	outer := fieldOf(t, "d", structOf(str))
	outer.Children[0] = inner
	nested := buildSchema(t, encodedWith(1, 8, true, outer))
	flat := buildSchema(t, encodedWith(1, 8, true, fieldOf(t, "d", str)))
	of := func(x *plainBatch) *plainBatch { // structs of one field
		return &plainBatch{rows: x.rows, nodes: append(nodes(x.rows), x.nodes...), bufs: append([][]byte{nil}, x.bufs...)}
	}
	for name, x := range map[string]struct {
		schema *arrowipc.Schema
		dicts  map[int64]*plainBatch
		good   bool
	}{
		"whole":          {flat, map[int64]*plainBatch{1: texts("a", "b")}, true},
		"broken":         {flat, map[int64]*plainBatch{1: broken}, false},
		"none":           {flat, nil, false},
		"nested":         {nested, map[int64]*plainBatch{2: texts("a"), 1: of(indices(1, 0, 0))}, true},
		"nested, beyond": {nested, map[int64]*plainBatch{2: texts("a"), 1: of(indices(1, 0, 1))}, false},
		"nested, none":   {nested, map[int64]*plainBatch{1: of(indices(1, 0, 0))}, false},
		"nested, broken": {nested, map[int64]*plainBatch{2: broken, 1: of(indices(1, 0, 0))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := loading(t, Options{})
			path := handmadeFile(t, s, x.schema, x.dicts, indices(1, 0, 1))
			_, batches := mustLoad(t, s, path)
			defer releaseAll(batches)
			for _, decode := range []func(int64) bool{nil, func(int64) bool { return true }} {
				reader := s.Reader(x.schema.Layout, allOf(t, x.schema), ReadOptions{Decode: decode})
				err := reader.Read(batches[0], 2, func(*Message) error { return nil })
				reader.Close()
				if x.good && err != nil || !x.good && !errors.Is(err, segment.ErrDamaged) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// A file that is changed after its columns were found to be right is found out.
func TestLoadedFileChanges(t *testing.T) {
	s := loading(t, Options{})
	schema := schemaOf(t, i64)
	path := handmadeFile(t, s, schema, nil, numbers(100))
	_, batches := mustLoad(t, s, path)
	defer releaseAll(batches)
	want := oracle(allOf(t, schema), []*plainBatch{numbers(100)})
	if got := read(t, s, schema.Layout, allOf(t, schema), ReadOptions{}, batches, 1000); !slices.Equal(got, want) {
		t.Fatalf("got %q", got)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(raw), string(ints(8, 7, 14, 21)))
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte{8}, int64(at)); err != nil {
		t.Fatal(err)
	}
	reader := s.Reader(schema.Layout, allOf(t, schema), ReadOptions{})
	defer reader.Close()
	if err := reader.Read(batches[0], 100, func(*Message) error { return nil }); !errors.Is(err, segment.ErrDamaged) {
		t.Errorf("a changed file: %v", err)
	}
}

func TestLoadRefused(t *testing.T) {
	s := loading(t, Options{})
	if _, _, err := newStore(t, Options{}).Load("x.arrow"); !errors.Is(err, ErrFiles) {
		t.Errorf("a store that serves none in place: %v", err)
	}
	schema := schemaOf(t, i64)
	swapped := numbers(3)
	path := handmadeFile(t, s, schema, nil, swapped)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Of the two buffers, the second is at 0: let the first, made to have bytes, be at 8.
	at := strings.Index(string(raw), string(ints(8, 0, 0, 0, 24)))
	copy(raw[at:], ints(8, 8, 8, 0, 24))
	if err := os.WriteFile(path, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Load(path); !errors.Is(err, segment.ErrUnsupported) || !strings.Contains(err.Error(), "in order") {
		t.Errorf("buffers out of order: %v", err)
	}
	copy(raw[at:], ints(8, 0, 0, 0, 16))
	if err := os.WriteFile(path, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Load(path); !errors.Is(err, segment.ErrDamaged) || !strings.Contains(err.Error(), "24 are needed") {
		t.Errorf("a buffer that is too short: %v", err)
	}
	empty := handmadeFile(t, s, schema, nil, numbers(0), numbers(3))
	_, batches := mustLoad(t, s, empty)
	if len(batches) != 1 || batches[0].Rows() != 3 {
		t.Errorf("%d batches", len(batches))
	}
	if _, err := s.Persist(schema, batches); !errors.Is(err, ErrInPlace) {
		t.Errorf("made durable: %v", err)
	}
	releaseAll(batches)
}

// A batch that is too large for a message is cut as it is read, and one that decodes to too much is not served.
func TestLoadLargeBatch(t *testing.T) {
	s := loading(t, Options{MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, MaxDecoded: 4 << 20, Memory: 16 << 20})
	schema := schemaOf(t, i64)
	const rows = 400_000
	path := handmadeFile(t, s, schema, nil, numbers(rows))
	_, batches := mustLoad(t, s, path)
	if n := batches[0].Node(0).Decoded; n != 8*rows {
		t.Errorf("%d bytes decoded", n)
	}
	for _, most := range []int64{0, 100 << 10} {
		reader := s.Reader(schema.Layout, allOf(t, schema), ReadOptions{MaxMessage: most})
		sent, messages := int64(0), 0
		err := reader.Read(batches[0], rows, func(m *Message) error {
			if most > 0 && m.BodyLength > most {
				t.Errorf("a body of %d bytes", m.BodyLength)
			}
			sent, messages = sent+m.Rows, messages+1
			return nil
		})
		reader.Close()
		if err != nil || sent != rows || (most == 0) != (messages == 1) {
			t.Errorf("%d rows in %d messages: %v", sent, messages, err)
		}
	}
	releaseAll(batches)
	zeros := &plainBatch{rows: 1 << 20, nodes: nodes(1 << 20), bufs: [][]byte{nil, make([]byte, 8<<20)}}
	other := newStore(t, Options{MaxMessage: 1 << 20})
	made, err := put(t, other, schema, IngestOptions{Codec: compress.Zstd, KeepBatches: true}, plainly, zeros)
	if err != nil {
		t.Fatal(err)
	}
	defer releaseAll(made)
	big := filepath.Join(t.TempDir(), "big.arrow")
	anotherProgram(t, big, schema, made)
	if _, loaded, err := s.Load(big); err != nil || len(loaded) != len(made) {
		t.Errorf("%d batches: %v", len(loaded), err)
	} else {
		releaseAll(loaded)
	}
	small := loading(t, Options{MaxMessage: 64 << 10, MaxBatchBytes: 64 << 10, MaxDecoded: 64 << 10})
	if _, _, err := small.Load(big); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "big.arrow: batch 0") {
		t.Errorf("a batch that decodes to too much: %v", err)
	}
}

// Whatever is changed in the bodies of a file, reading it gives rows or an error of damage, and no panic.
func TestLoadedDamage(t *testing.T) {
	r := seeded(t)
	rounds := 40
	if underRace {
		rounds = 9 // one goroutine, of which the detector has nothing to say
	}
	for round := range rounds {
		x := shapes[r.IntN(len(shapes))]
		s := loading(t, Options{})
		from := newStore(t, Options{})
		schema := randomDictSchema(t, r, x)
		in := begin(t, from, schema, IngestOptions{Codec: []compress.Codec{compress.None, compress.LZ4, compress.Zstd}[round%3]})
		newDictModel(t, r, schema).run(in)
		made, err := in.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(made) == 0 {
			continue
		}
		path := filepath.Join(t.TempDir(), "damaged.arrow")
		anotherProgram(t, path, schema, made[:1])
		releaseAll(made)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		front := 8 + len(schema.Encapsulated())
		for range 40 {
			changed := slices.Clone(raw)
			for range 1 + r.IntN(3) {
				changed[front+r.IntN(len(raw)-front)] = byte(r.Uint32() >> r.IntN(32))
			}
			if err := os.WriteFile(path, changed, 0o666); err != nil {
				t.Fatal(err)
			}
			got, batches, err := s.Load(path) // of a schema that may have changed too
			if err != nil {
				continue
			}
			for _, o := range []ReadOptions{{}, {Accept: func(compress.Codec) bool { return false }, MaxMessage: 64 << 10, Decode: func(int64) bool { return true }}} {
				reader := s.Reader(got.Layout, allOf(t, got), o)
				for _, b := range batches {
					err := reader.Read(b, b.Rows(), func(*Message) error { return nil })
					if err != nil && !errors.Is(err, segment.ErrDamaged) && !errors.Is(err, ErrTooLarge) {
						t.Fatalf("not damage: %v", err)
					}
				}
				reader.Close()
			}
			releaseAll(batches)
		}
	}
}
