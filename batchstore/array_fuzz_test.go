package batchstore

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// mutate changes counts, lengths and bytes of a batch as ops say.
func mutate(b *plainBatch, ops []byte) {
	for ; len(ops) >= 8; ops = ops[8:] {
		index := int(binary.LittleEndian.Uint16(ops[1:]))
		value := int64(int32(binary.LittleEndian.Uint32(ops[4:])))
		if ops[3] > 200 {
			value <<= 31
		}
		switch what := ops[0] % 6; {
		case what == 0:
			b.rows = value
		case what == 1 && len(b.nodes) > 0:
			b.nodes[index%len(b.nodes)].Length = value
		case what == 2 && len(b.nodes) > 0:
			b.nodes[index%len(b.nodes)].Nulls = value
		case what == 3 && len(b.variadic) > 0:
			b.variadic[index%len(b.variadic)] = value
		case what == 4 && len(b.bufs) > 0:
			buf := &b.bufs[index%len(b.bufs)]
			if n := int64(len(*buf)); n > 0 && value >= 0 {
				*buf = (*buf)[:value%n]
			}
		case what == 5 && len(b.bufs) > 0:
			buf := b.bufs[index%len(b.bufs)]
			if len(buf) > 0 {
				copy(buf[int(ops[3])%len(buf):], ops[4:4+1+index%4])
			}
		}
	}
}

// FuzzCheckPlain mutates valid batches of every shape. What checkPlain still accepts has to cut and join without a
// panic, into batches that are valid and hold the same rows.
func FuzzCheckPlain(f *testing.F) {
	var layouts []*arrowipc.Layout
	for _, x := range shapes {
		layouts = append(layouts, schemaOf(f, x.dt).Layout)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range layouts {
		for n := range 4 {
			ops := make([]byte, 8*n)
			for k := range ops {
				ops[k] = byte(r.Uint32())
			}
			f.Add(byte(i), r.Uint64(), byte(20*n), ops)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, seed uint64, rows byte, ops []byte) {
		l := layouts[int(which)%len(layouts)]
		r := rand.New(rand.NewPCG(seed, 0))
		b := randomPlain(r, l, int64(rows))
		mutate(b, ops)
		if checkPlain(l, b) != nil {
			return
		}
		if b.rows > 1000 || slices.ContainsFunc(b.nodes, func(n arrowipc.FieldNode) bool { return n.Length > 100_000 }) {
			// Columns without bytes may have any length: what would be allocated for them is for the caller to bound.
			if _, err := concatSize(l.Columns, []run{{b, b.rows / 3, b.rows / 2}}); err != nil {
				t.Log(err)
			}
			return
		}
		want := renderRows(l.Columns, b, 0, b.rows)
		runs := cuts(r, b)
		got := concat(t, l, runs)
		if have := renderRows(l.Columns, got, 0, got.rows); !slices.Equal(have, want) {
			t.Fatalf("rows differ:\n got %s\nwant %s", have, want)
		}
		for _, x := range runs {
			concat(t, l, []run{x})
		}
	})
}
