package batchstore

import (
	"errors"
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/compress"
)

// guest is what is known of a file that is served in place. Nothing in it has been checked by a put: each column is when it
// is read first, and from then on its checksum, or that in the file, tells of a change.
type guest struct {
	leaves [][]leaf // of each top-level column
	nested [][]leaf // of each dictionary's values, by ordinal
	values []int64  // of dictionaries, by ordinal: how many values there are
}

func newGuest(l *arrowipc.Layout) *guest {
	g := &guest{values: make([]int64, len(l.Dictionaries))}
	for _, c := range l.Columns {
		g.leaves = append(g.leaves, leaves([]*arrowipc.Column{c}, l.Dictionaries))
	}
	for _, d := range l.Dictionaries {
		g.nested = append(g.nested, leaves(d.Values.Columns, l.Dictionaries))
	}
	return g
}

// readPlace reads the stored bytes of top-level columns of a batch from its file into dst, of just their length. Those of a
// file that is served in place are checked, unless they have been; what they decode to meanwhile is m's.
func (s *Store) readPlace(m lender, b *Batch, p *place, x interval, dst []byte) error {
	if err := p.read(&b.header, x, dst); err != nil {
		return err
	}
	if p.checked == nil {
		return nil
	}
	k := &guestCheck{store: s, memory: m, batch: b, place: p, stored: view{parts: []part{b.extent(x)}}}
	for c := x.first; c < x.last; c++ {
		if p.checked[c].Load() {
			continue
		}
		from, to := b.columnStart(c), b.columnStart(c+1)
		if err := k.column(c, dst[from-k.stored.parts[0].from:to-k.stored.parts[0].from]); err != nil {
			return err
		}
	}
	return nil
}

// guestCheck checks columns of one batch. It belongs to one goroutine.
type guestCheck struct {
	store  *Store
	memory lender
	batch  *Batch
	place  *place
	stored view
	src    *source // made for the first column
}

// column checks a top-level column of these stored bytes.
func (k *guestCheck) column(c int, run []byte) error {
	b, p := k.batch, k.place
	if k.src == nil {
		plain := b.plain()
		plain.bufs = make([][]byte, len(b.header.Buffers))
		k.src = newSource(plain)
	}
	column := b.layout.Columns[c]
	first, last := column.Buf0+k.src.viewSums[column.View0], column.Buf1+k.src.viewSums[column.View1]
	bufs := k.src.bufs[first:last]
	defer clear(bufs)
	base := b.columnStart(c)
	for i, x := range b.header.Buffers[first:last] {
		at := x.Offset - base
		if x.Length > 0 {
			bufs[i] = run[at : at+x.Length : at+x.Length]
		}
	}
	if b.codec != compress.None {
		plain := &plainBatch{}
		block, err := k.store.decodePlain(k.memory, plain, bufs, b.codec)
		if err != nil {
			return k.damaged(column, err)
		}
		defer Free(&block)
		copy(bufs, plain.bufs)
	}
	if err := k.values(column, c); err != nil {
		return k.damaged(column, err)
	}
	if p.dictionary {
		p.file.TrustDictionary(p.index, run)
	} else {
		p.file.TrustColumn(p.index, c, run)
	}
	p.checked[c].Store(true)
	return nil
}

// values checks a column's decoded buffers, and its indices into dictionaries.
func (k *guestCheck) values(column *arrowipc.Column, c int) error {
	if err := (&checker{s: k.src}).column(column); err != nil {
		return err
	}
	g := k.place.file.guest
	indices := g.leaves
	if k.place.dictionary {
		indices = [][]leaf{g.nested[k.batch.dict.ordinal]}
	}
	for _, x := range indices[c] {
		if _, err := checkIndices(k.src, x, g.values[x.dictionary]); err != nil {
			return err
		}
	}
	return nil
}

// damaged blames the file for what was found, unless it was something else that was wrong, such as no memory to look.
func (k *guestCheck) damaged(column *arrowipc.Column, err error) error {
	if !errors.Is(err, ErrInvalidBatch) && !errors.Is(err, compress.ErrCorrupt) && !errors.Is(err, compress.ErrLimit) {
		return err
	}
	what := "batch"
	if k.place.dictionary {
		what = "dictionary"
	}
	return fmt.Errorf("%w: file %s: %s %d: %q: %s", segment.ErrDamaged, k.place.file.name, what, k.place.index, column.Field.Name, err.Error())
}
