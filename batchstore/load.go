package batchstore

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/compress"
)

// Load gives the schema and the batches of an Arrow IPC file anywhere, which is served in place: it is neither written nor
// removed. Only its metadata is read. Rows and decoded sizes are exact; there are statistics only if this program wrote the
// file. A column is checked in full, as that of a put would be, when it is read first. Batches without rows are left out; the
// others may be of any size, and are cut when they are sent. The caller owns one reference to each.
//
// It takes Options.Load. Errors are segment.ErrDamaged, segment.ErrUnsupported for what cannot be served in place,
// ErrTooLarge, ErrMemory when the facts of the batches are more than the budget has, and those of the file system.
func (s *Store) Load(path string) (*arrowipc.Schema, []*Batch, error) {
	if s.files == nil {
		return nil, nil, fmt.Errorf("%w: the store serves none in place", ErrFiles)
	}
	file, err := s.files.pool.OpenAny(path, s.opts.Limits)
	if err != nil {
		return nil, nil, err
	}
	f := &segmentFile{File: file, files: s.files, name: filepath.Base(path), guest: newGuest(file.Schema().Layout)}
	f.refs.Store(1)
	f.leave.Store(true)
	defer f.release()
	schema, err := s.made(nil, file.Schema())
	if err != nil {
		return nil, nil, err
	}
	defer schema.Release() // the batches hold it
	batches, err := s.loadBatches(f)
	file.Trim()
	if err != nil {
		for _, b := range batches {
			b.Release()
		}
		return nil, nil, err
	}
	return file.Schema(), batches, nil
}

func (s *Store) loadBatches(f *segmentFile) (out []*Batch, err error) {
	l := f.Schema().Layout
	dicts, err := s.loadDictionaries(f, l)
	defer func() {
		for _, d := range dicts {
			d.Release()
		}
	}()
	if err != nil {
		return nil, err
	}
	whole := &lot{files: s.files, name: f.name, schema: f.Schema()}
	for i := range f.Batches() {
		facts, err := f.Batch(i)
		if err != nil {
			return out, err
		}
		if facts.Header.Rows == 0 {
			continue
		}
		b, err := s.guestBatch(l, facts, &place{file: f, index: i, checked: make([]atomic.Bool, len(l.Columns))})
		if err != nil {
			return out, fmt.Errorf("file %s: batch %d: %w", f.name, i, err)
		}
		b.lot.Store(whole)
		for _, d := range dicts {
			d.Retain()
			b.dicts = append(b.dicts, d)
		}
		out = append(out, b)
	}
	return out, nil
}

// loadDictionaries gives a file's dictionaries by ordinal of the layout's. One that the file does not have has no values.
func (s *Store) loadDictionaries(f *segmentFile, l *arrowipc.Layout) (out []*Dictionary, err error) {
	at := map[int64]int{}
	for i := range f.Dictionaries() {
		id, _, _, err := f.Dictionary(i)
		if err != nil {
			return nil, err
		}
		at[id] = i
	}
	for k, d := range l.Dictionaries {
		var values *Batch
		if i, there := at[d.ID]; there {
			_, _, facts, err := f.Dictionary(i)
			if err == nil {
				f.guest.values[k] = facts.Header.Rows
				values, err = s.guestBatch(d.Values, facts, &place{file: f, index: i, dictionary: true, checked: make([]atomic.Bool, 1)})
			}
			if err != nil {
				return out, fmt.Errorf("file %s: dictionary %d: %w", f.name, i, err)
			}
		} else if values, err = s.noValues(d.Values); err != nil {
			return out, err
		}
		// No content is digested, as none is read; and the identity that a file says is not believed.
		var own digest
		rand.Read(own[:]) // never fails, by its documentation
		out = append(out, s.dictionaries.keep(k, own, values))
	}
	return out, nil
}

// noValues is the values of an empty dictionary.
func (s *Store) noValues(l *arrowipc.Layout) (*Batch, error) {
	h := arrowipc.RecordBatch{
		Nodes: make([]arrowipc.FieldNode, l.Node1), Buffers: make([]arrowipc.Buffer, l.Buf1), Variadic: make([]int64, l.View1),
	}
	return s.newBatch(s.unclaimed(), l, h, compress.None, make([]int64, l.Node1), nil, arena.Block{})
}

// guestBatch makes a batch, or a dictionary's values, of a loaded file.
func (s *Store) guestBatch(l *arrowipc.Layout, facts segment.Facts, p *place) (*Batch, error) {
	h := &facts.Header
	switch {
	case !segment.InOrder(h):
		return nil, fmt.Errorf("%w: its buffers do not lie in order at multiples of 8; write the file again, with pyarrow for one", segment.ErrUnsupported)
	case h.Rows > MaxRows:
		return nil, fmt.Errorf("%w: %d rows, at most %d are taken; write the file again in smaller batches", ErrTooLarge, h.Rows, int64(MaxRows))
	}
	if facts.Decoded == nil {
		g := &gauge{store: s, header: h, place: p}
		var err error
		if facts.Decoded, err = g.decoded(l); err != nil {
			return nil, err
		}
	}
	b, err := s.filedBatch(l, facts, p)
	if err != nil {
		return nil, err
	}
	b.apart = true
	return b, nil
}

// gauge finds what a batch's buffers decode to without reading them: what counts tell is enough for most, and for the
// others the lengths before compressed buffers are.
type gauge struct {
	store    *Store
	header   *arrowipc.RecordBatch
	place    *place
	variadic int   // buffers of the view columns so far
	views    int   // and the view columns
	total    int64 // decoded
}

// decoded gives the decoded bytes by field node. It sets null counts to what columns without a bitmap should have.
func (g *gauge) decoded(l *arrowipc.Layout) ([]int64, error) {
	out := make([]int64, l.Node1)
	var walk func(columns []*arrowipc.Column) error
	walk = func(columns []*arrowipc.Column) error {
		for _, c := range columns {
			node := &g.header.Nodes[c.Node0]
			node.Nulls = trueNulls(c, *node)
			n, err := g.own(c, node.Length)
			if err != nil {
				return err
			}
			out[c.Node0] = n
			if err := walk(c.Children); err != nil {
				return err
			}
		}
		return nil
	}
	return out, walk(l.Columns)
}

// own adds up a column's own buffers.
func (g *gauge) own(c *arrowipc.Column, rows int64) (sum int64, err error) {
	first, own := c.Buf0+g.variadic, c.OwnBuffers()
	last := first + own
	if c.Kind == arrowipc.KindView {
		last += int(g.header.Variadic[g.views])
		g.variadic += int(g.header.Variadic[g.views])
		g.views++
	}
	for i := first; i < last; i++ {
		n, err := g.buffer(c, i-first, rows, i)
		if err != nil {
			return 0, fmt.Errorf("column %q: buffer %d: %w", c.Field.Name, i, err)
		}
		compressed := g.header.Compression != arrowipc.Uncompressed
		if most := g.store.opts.MaxDecoded; compressed && n > most-g.total {
			return 0, fmt.Errorf("%w: it would decode to more than %d bytes; write the file again in smaller batches", ErrTooLarge, most)
		}
		g.total += n
		sum += n
	}
	return sum, nil
}

// buffer gives the decoded length of the i-th of a column's own buffers, which is buffer k of the batch.
func (g *gauge) buffer(c *arrowipc.Column, i int, rows int64, k int) (int64, error) {
	x := g.header.Buffers[k]
	if x.Length == 0 {
		return 0, nil
	}
	n, known := fixedNeed(c, i, rows)
	switch {
	case g.header.Compression != arrowipc.Uncompressed:
		if known {
			return n, nil
		}
		return g.declared(x)
	case !known:
		return x.Length, nil
	case n > x.Length:
		return 0, fmt.Errorf("%w: it has %d bytes, %d are needed for %d rows", segment.ErrDamaged, x.Length, n, rows)
	}
	return n, nil
}

// declared reads the length that stands before a compressed buffer.
func (g *gauge) declared(x arrowipc.Buffer) (int64, error) {
	const prefix = 8
	var raw [prefix]byte
	if x.Length < prefix {
		return 0, fmt.Errorf("%w: a compressed buffer of %d bytes", segment.ErrDamaged, x.Length)
	}
	if err := g.place.file.Peek(g.place.dictionary, g.place.index, raw[:], x.Offset); err != nil {
		return 0, err
	}
	n := int64(binary.LittleEndian.Uint64(raw[:]))
	switch {
	case n == -1: // it is plain
		return x.Length - prefix, nil
	case n < 0:
		return 0, fmt.Errorf("%w: a compressed buffer says a length of %d", segment.ErrDamaged, n)
	}
	return n, nil
}

// fixedNeed is the bytes that rows need of the i-th of a column's own buffers, if their number tells; it is not less than
// MaxInt64 says where they are that many. It is of buffers that are there.
func fixedNeed(c *arrowipc.Column, i int, rows int64) (n int64, known bool) {
	if i == 0 && c.HasValidity() {
		return bitBytes(rows), true
	}
	width := offsetWidth(c.Kind)
	switch c.Kind {
	case arrowipc.KindBool:
		return bitBytes(rows), true
	case arrowipc.KindFixed:
		return times(rows, int64(c.Width)), true
	case arrowipc.KindView:
		return times(rows, viewBytes), i == 1
	case arrowipc.KindBinary, arrowipc.KindLargeBinary, arrowipc.KindList, arrowipc.KindLargeList:
		if rows == math.MaxInt64 {
			return rows, i == 1
		}
		return times(rows+1, width), i == 1
	case arrowipc.KindListView, arrowipc.KindLargeListView:
		return times(rows, width), true
	case arrowipc.KindSparseUnion, arrowipc.KindDenseUnion:
		if i == 1 {
			return times(rows, 4), true
		}
		return rows, true
	}
	return 0, false
}

// times multiplies, and stops at MaxInt64.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}
