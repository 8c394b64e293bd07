package batchstore

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
)

// dictionaries are those of one put. A nil one, of a schema without dictionaries, has none; its methods then do nothing.
// All methods but check run on the put's goroutine.
//
// A dictionary's values may hold indices into others. Which values those are is decided by the dictionaries that are
// there when a batch comes, as common readers decide it, and not by those that were there when the dictionary came.
type dictionaries struct {
	store   *Store
	layouts []*arrowipc.DictionaryLayout
	compact bool     // dictionaries of which little is used may be compacted
	leaves  []leaf   // of the put's batches
	nested  [][]leaf // by dictionary: of its values
	current []*chain // by dictionary; nil until it is needed
	all     []*chain // that were ever current
	settled bool     // current is complete, and the indices of nested ones are in range
}

func newDictionaries(s *Store, l *arrowipc.Layout, o IngestOptions) *dictionaries {
	if len(l.Dictionaries) == 0 {
		return nil
	}
	d := &dictionaries{
		store: s, layouts: l.Dictionaries, compact: !o.KeepBatches && !o.DecodeDictionaries,
		leaves: leaves(l.Columns, l.Dictionaries), current: make([]*chain, len(l.Dictionaries)),
	}
	for _, x := range l.Dictionaries {
		d.nested = append(d.nested, leaves(x.Values.Columns, l.Dictionaries))
	}
	return d
}

func (d *dictionaries) ordinal(id int64) (int, bool) {
	if d != nil {
		for i, l := range d.layouts {
			if l.ID == id {
				return i, true
			}
		}
	}
	return 0, false
}

// begin makes a new chain the current one of a dictionary. Those of dictionaries whose values hold indices into it go
// their own way from here: their indices now mean other values.
func (d *dictionaries) begin(ordinal int) *chain {
	c := newChain(d.layouts[ordinal], ordinal, len(d.nested[ordinal]), d.compact)
	d.current[ordinal] = c
	d.all = append(d.all, c)
	changed := map[int]bool{ordinal: true}
	for i := ordinal + 1; i < len(d.layouts) && d.layouts[ordinal].Nested; i++ { // nested ones come first
		for _, x := range d.nested[i] {
			if changed[x.dictionary] && !changed[i] && d.current[i] != nil {
				changed[i] = true
				d.current[i] = d.current[i].fork()
				d.all = append(d.all, d.current[i])
			}
		}
	}
	return c
}

// settle makes sure, for a batch, that there is a chain for every dictionary and that nested indices have their values.
func (d *dictionaries) settle() error {
	if d.settled {
		return nil
	}
	for i, c := range d.current {
		if c == nil {
			d.begin(i)
		}
	}
	for i, c := range d.current {
		for k, x := range d.nested[i] {
			if have := d.current[x.dictionary].rows; c.needs[k] > have {
				return fmt.Errorf("%w: the values of dictionary %d need %d values of dictionary %d, which has %d",
					ErrInvalidBatch, d.layouts[i].ID, c.needs[k], d.layouts[x.dictionary].ID, have)
			}
		}
	}
	for _, c := range d.current {
		c.kept = c.rows
	}
	d.settled = true
	return nil
}

// limits are the numbers of values as of now, by dictionary.
func (d *dictionaries) limits() ([]int64, error) {
	if d == nil {
		return nil, nil
	}
	if err := d.settle(); err != nil {
		return nil, err
	}
	out := make([]int64, len(d.current))
	for i, c := range d.current {
		out[i] = c.rows
	}
	return out, nil
}

// snapshot is the dictionaries as of now.
func (d *dictionaries) snapshot() []*chain {
	if d == nil {
		return nil
	}
	return append([]*chain(nil), d.current...)
}

// values are the values of the dictionaries as of now, to be written in place of indices.
func (d *dictionaries) values() map[int64]*dictionaryValues {
	if d == nil {
		return nil
	}
	out := make(map[int64]*dictionaryValues, len(d.current))
	for _, c := range d.current {
		out[c.layout.ID] = c.values
	}
	return out
}

// check checks a batch's indices against what there was when it came, and notes what is used. It runs on workers.
func (d *dictionaries) check(b *plainBatch, limits []int64, chains []*chain) error {
	if d == nil {
		return nil
	}
	s := newSource(b)
	for _, x := range d.leaves {
		if _, err := checkIndices(s, x, limits[x.dictionary]); err != nil {
			return err
		}
		chains[x.dictionary].note(s, x)
	}
	return nil
}

// close stores the dictionaries that batches use, compacted where that is worth it, and gives each batch its own. It
// runs when all groups are done.
func (d *dictionaries) close(in *Ingest) error {
	if d == nil {
		return nil
	}
	used := map[*chain]bool{}
	for _, g := range in.groups {
		for _, c := range g.chains {
			used[c] = true
		}
	}
	numbers := map[*chain]*ranks{}
	for _, c := range d.all {
		if !used[c] {
			continue
		}
		sparse := c.sparse()
		if err := c.store(d.store, in.memory(false), in.opts.Codec, in.opts.Level, sparse); err != nil {
			return err
		}
		if sparse {
			numbers[c] = newRanks(c.used)
		}
	}
	if err := d.renumber(in, numbers); err != nil {
		return err
	}
	for _, g := range in.groups {
		for _, b := range g.batches {
			for _, c := range g.chains {
				c.dict.Retain()
				b.dicts = append(b.dicts, c.dict)
			}
		}
	}
	return nil
}

func (d *dictionaries) free() {
	if d == nil {
		return
	}
	for _, c := range d.all {
		c.free()
	}
	d.all, d.current = nil, nil
}
