package batchstore

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// joinDictionaries are those of batches that are joined: by ordinal one that all of them have, or one that is made of the
// values of all that they have. A nil one has nothing to free.
type joinDictionaries struct {
	layouts []*arrowipc.DictionaryLayout
	unions  []*union                    // by ordinal; nil where all batches have the same one
	dicts   []*Dictionary               // by ordinal, one reference each; those of unions come with store
	values  map[int64]*dictionaryValues // by id
	blocks  []arena.Block               // what values lie in
}

// union is the values of several dictionaries, each value once, in the order in which they come.
type union struct {
	places  map[string]int64 // of the values
	most    int64            // values that all index columns can tell apart
	picks   []run            // the values, as rows of the dictionaries
	numbers map[*Dictionary][]int64
	rows    int64
}

func (d *joinDictionaries) free() {
	if d == nil {
		return
	}
	for i := range d.blocks {
		Free(&d.blocks[i])
	}
	for _, x := range d.dicts {
		if x != nil {
			x.Release()
		}
	}
	d.blocks, d.dicts = nil, nil
}

// united tells of the dictionaries of a layout which can be made one of several: those whose values can be compared byte by
// byte, whose order means nothing, and that have nothing to do with other dictionaries.
func united(l *arrowipc.Layout) []bool {
	out := make([]bool, len(l.Dictionaries))
	for i, d := range l.Dictionaries {
		switch d.Values.Columns[0].Kind {
		case arrowipc.KindBool, arrowipc.KindFixed, arrowipc.KindBinary, arrowipc.KindLargeBinary, arrowipc.KindView:
			out[i] = !d.Ordered && !d.Nested && len(leaves(d.Values.Columns, l.Dictionaries)) == 0
		}
	}
	return out
}

// dictionaries makes the dictionaries ready that the first batches of a run need, for as many of them as can have the same
// ones. At least the first can.
func (j *Joiner) dictionaries(run []*Batch) (n int, err error) {
	same := 1
	for same < len(run) && sameDictionaries(run[0], run[same]) {
		same++
	}
	if same == len(run) && j.dicts != nil && j.dicts.are(run[0]) {
		return same, nil
	}
	j.dicts.free()
	j.dicts = &joinDictionaries{
		layouts: j.layout.Dictionaries, unions: make([]*union, len(j.layout.Dictionaries)), values: map[int64]*dictionaryValues{},
	}
	d := j.dicts
	for i := range run[0].dicts {
		if x := run[0].dicts[i]; same == len(run) || !otherDictionary(run, i) {
			x.Retain()
			d.dicts = append(d.dicts, x)
			if err := d.decode(j, i, x); err != nil {
				return 0, err
			}
			continue
		}
		d.dicts = append(d.dicts, nil)
		d.unions[i] = &union{places: map[string]int64{}, numbers: map[*Dictionary][]int64{}, most: mostValues(j.leaves, i)}
	}
	for n < len(run) {
		fits, err := d.add(j, run[n])
		if err != nil {
			return 0, err
		}
		if !fits && n > 0 {
			break
		}
		n++
	}
	return n, d.unite(j)
}

// are tells whether these are the dictionaries of a batch, without a union.
func (d *joinDictionaries) are(b *Batch) bool {
	for i, x := range d.dicts {
		if d.unions[i] != nil || x != b.dicts[i] {
			return false
		}
	}
	return len(d.dicts) == len(b.dicts)
}

func otherDictionary(run []*Batch, ordinal int) bool {
	for _, b := range run {
		if b.dicts[ordinal] != run[0].dicts[ordinal] {
			return true
		}
	}
	return false
}

// mostValues is how many values the narrowest index column of a dictionary can tell apart.
func mostValues(leaves []leaf, ordinal int) int64 {
	most := int64(MaxRows)
	for _, x := range leaves {
		if x.dictionary != ordinal {
			continue
		}
		bits := x.column.Field.Dictionary.IndexBits
		if x.column.Field.Dictionary.Signed {
			bits--
		}
		if bits < 31 {
			most = min(most, 1<<bits)
		}
	}
	return most
}

// plain decodes a dictionary and checks it as those that arrive are; the block is freed with the others.
func (d *joinDictionaries) plain(j *Joiner, ordinal int, x *Dictionary) (*plainBatch, error) {
	plain, block, err := j.store.decodeDictionary(j.memory, x)
	if err != nil {
		return nil, err
	}
	d.blocks = append(d.blocks, block)
	if err := checkPlain(d.layouts[ordinal].Values, plain); err != nil {
		return nil, fmt.Errorf("dictionary %d: %w: %s", d.layouts[ordinal].ID, compress.ErrCorrupt, err.Error())
	}
	return plain, nil
}

// decode gives the values of a dictionary that all batches have.
func (d *joinDictionaries) decode(j *Joiner, ordinal int, x *Dictionary) error {
	plain, err := d.plain(j, ordinal, x)
	if err != nil {
		return err
	}
	d.set(ordinal, plain)
	return nil
}

func (d *joinDictionaries) set(ordinal int, plain *plainBatch) {
	v := newDictionaryValues(d.layouts[ordinal].Values)
	if plain.rows > 0 {
		v = v.with(plain)
	}
	d.values[d.layouts[ordinal].ID] = v
}

// add adds the values of a batch's dictionaries, or reports that they would be too many.
func (d *joinDictionaries) add(j *Joiner, b *Batch) (fits bool, err error) {
	var plain []*plainBatch // by ordinal, where they are to be added
	fits = true
	for i, u := range d.unions {
		plain = append(plain, nil)
		if u == nil || u.numbers[b.dicts[i]] != nil {
			continue
		}
		if plain[i], err = d.plain(j, i, b.dicts[i]); err != nil {
			return false, err
		}
		fits = fits && u.rows+u.news(d.layouts[i].Values.Columns[0], plain[i]) <= u.most
	}
	if !fits && len(d.unions) > 0 && !d.empty() {
		return false, nil
	}
	for i, p := range plain {
		if p != nil {
			d.unions[i].add(d.layouts[i].Values.Columns[0], b.dicts[i], p)
		}
	}
	return true, nil
}

// empty tells whether no batch has been added.
func (d *joinDictionaries) empty() bool {
	for _, u := range d.unions {
		if u != nil && len(u.numbers) > 0 {
			return false
		}
	}
	return true
}

// news counts the values of a dictionary that the union has not.
func (u *union) news(c *arrowipc.Column, plain *plainBatch) (n int64) {
	s := newSource(plain)
	seen := map[string]bool{}
	for i := range plain.rows {
		key := valueKey(s, c, i)
		if _, known := u.places[key]; !known && !seen[key] {
			seen[key] = true
			n++
		}
	}
	return n
}

func (u *union) add(c *arrowipc.Column, x *Dictionary, plain *plainBatch) {
	s := newSource(plain)
	numbers := make([]int64, plain.rows)
	for i := range plain.rows {
		key := valueKey(s, c, i)
		place, known := u.places[key]
		if !known {
			place = u.rows
			u.places[key] = place
			u.rows++
			if k := len(u.picks) - 1; k >= 0 && u.picks[k].b == plain && u.picks[k].from+u.picks[k].n == i {
				u.picks[k].n++
			} else {
				u.picks = append(u.picks, run{b: plain, from: i, n: 1})
			}
		}
		numbers[i] = place
	}
	u.numbers[x] = numbers
}

// valueKey is a value's bytes, told apart from those of other values and of null.
func valueKey(s *source, c *arrowipc.Column, i int64) string {
	if bitmap := s.validity(c); !valid(bitmap, i) {
		return ""
	}
	values := s.buf(c, 1)
	switch c.Kind {
	case arrowipc.KindBool:
		if bitSet(values, i) {
			return "v1"
		}
		return "v0"
	case arrowipc.KindFixed:
		w := int64(c.Width)
		return "v" + string(values[i*w:(i+1)*w])
	case arrowipc.KindView:
		view := values[i*viewBytes : (i+1)*viewBytes]
		size, buf, at := parseView(view)
		if size <= inlineBytes {
			return "v" + string(view[4:4+size])
		}
		return "v" + string(s.viewData(c)[buf][at:at+size])
	}
	width := offsetWidth(c.Kind)
	return "v" + string(s.buf(c, 2)[intAt(values, width, i):intAt(values, width, i+1)])
}

// unite writes the unions' values, each as one batch.
func (d *joinDictionaries) unite(j *Joiner) error {
	for i, u := range d.unions {
		if u == nil {
			continue
		}
		block, plain, err := j.store.flatten(j.memory, d.layouts[i].Values.Columns, u.picks)
		if err != nil {
			return err
		}
		d.blocks = append(d.blocks, block)
		d.set(i, plain)
	}
	return nil
}

// renumber has a plain batch's indices mean the values of unions. Its index buffers may be those of a stored body, which
// stay as they are.
func (d *joinDictionaries) renumber(leaves []leaf, b *Batch, plain *plainBatch) {
	s := newSource(plain)
	for _, x := range leaves {
		u := d.unions[x.dictionary]
		if u == nil {
			continue
		}
		numbers, c := u.numbers[b.dicts[x.dictionary]], x.column
		at := c.Buf0 + s.viewSums[c.View0] + 1
		old := plain.bufs[at]
		renumbered := make([]byte, len(old))
		bitmap := s.validity(c)
		for i := range s.node(c).Length {
			if valid(bitmap, i) {
				putIndex(renumbered, c, i, numbers[indexAt(old, c, i)])
			}
		}
		plain.bufs[at] = renumbered
	}
}

// store keeps the unions as dictionaries, which come to be shared where there are such already.
func (d *joinDictionaries) store(j *Joiner, codec compress.Codec, level int) error {
	for i, u := range d.unions {
		if u == nil || d.dicts[i] != nil {
			continue
		}
		c := &chain{layout: d.layouts[i], ordinal: i, values: d.values[d.layouts[i].ID], kept: u.rows}
		if err := c.store(j.store, j.memory, codec, level, false); err != nil {
			return err
		}
		d.dicts[i] = c.dict // the chain's reference
	}
	return nil
}
