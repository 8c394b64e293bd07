package batchstore

import (
	"slices"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// readDictionaries are the dictionaries of one read. A nil one, of columns without dictionaries, does nothing.
type readDictionaries struct {
	needed []neededDictionary
	values map[int64]*dictionaryValues // of those that are decoded, as of the batch being read; nil if none are
}

// neededDictionary is one dictionary of the chosen columns, in the order in which they must be sent.
type neededDictionary struct {
	ordinal int   // in the stored layout
	nested  []int // places in needed of the dictionaries that its values hold indices into; they come before it
	sent    bool  // for the batch that is being prepared
	layout  *arrowipc.DictionaryLayout
	decode  bool
	now     *Dictionary // that the client has, or that is decoded
	plain   *resident   // its plain values, of one that is decoded
	none    *dictionaryValues
}

func newReadDictionaries(stored, chosen *arrowipc.Layout, decode func(int64) bool) *readDictionaries {
	if len(chosen.Dictionaries) == 0 {
		return nil
	}
	ordinal := map[int64]int{}
	for i, d := range stored.Dictionaries {
		ordinal[d.ID] = i
	}
	r := &readDictionaries{}
	for _, d := range chosen.Dictionaries {
		var nested []int
		for _, x := range leaves(d.Values.Columns, chosen.Dictionaries) {
			nested = append(nested, x.dictionary)
		}
		n := neededDictionary{nested: nested, none: newDictionaryValues(d.Values), ordinal: ordinal[d.ID], layout: d, decode: decode != nil && decode(d.ID)}
		if n.decode && r.values == nil {
			r.values = map[int64]*dictionaryValues{}
		}
		r.needed = append(r.needed, n)
	}
	return r
}

// decoding gives the values of the dictionaries that are decoded; nil if none are.
func (d *readDictionaries) decoding() map[int64]*dictionaryValues {
	if d == nil {
		return nil
	}
	return d.values
}

// prepare sends the dictionaries that a batch needs and the client has not, and decodes those that are not sent.
func (d *readDictionaries) prepare(r *Reader, b *Batch, send func(*Message) error) error {
	if d == nil {
		return nil
	}
	for i := range d.needed {
		n := &d.needed[i]
		next := b.dicts[n.ordinal]
		if !n.decode {
			n.sent = next != n.now || d.sentNested(n)
			if n.sent {
				if err := r.sendDictionary(n.layout.ID, next, send); err != nil {
					return err
				}
				n.now = next
			}
			continue
		}
		if next == n.now {
			continue
		}
		plain, block, err := r.store.decodeDictionary(r.memory, next)
		if err != nil {
			return err
		}
		if n.plain != nil {
			n.plain.Release()
		}
		n.now, n.plain = next, newResident(block)
		d.values[n.layout.ID] = n.none
		if plain.rows > 0 {
			d.values[n.layout.ID] = n.none.only(plain)
		}
	}
	return nil
}

// sentNested reports whether a dictionary that n's values hold indices into has just been sent. Some readers look such
// values up when n comes, others when a batch does: it is sent again for the former.
func (d *readDictionaries) sentNested(n *neededDictionary) bool {
	return slices.ContainsFunc(n.nested, func(i int) bool { return d.needed[i].sent })
}

func (d *readDictionaries) close() {
	if d == nil {
		return
	}
	for i := range d.needed {
		if n := &d.needed[i]; n.plain != nil {
			n.plain.Release()
			n.plain = nil
		}
	}
}

// plain is a plain batch of b's counts, its buffers to be filled in.
func (b *Batch) plain() *plainBatch {
	return &plainBatch{rows: b.header.Rows, nodes: b.header.Nodes, variadic: b.header.Variadic}
}

// decodeDictionary gives a dictionary's plain values, and the block that they lie in, which the caller frees.
func (s *Store) decodeDictionary(m lender, d *Dictionary) (*plainBatch, arena.Block, error) {
	stored, err := s.openWhole(m, d.values)
	if err != nil {
		return nil, arena.Block{}, err
	}
	defer stored.release()
	plain := d.values.plain()
	block, err := s.decodePlain(m, plain, stored.slices(d.values.header.Buffers), d.values.codec)
	return plain, block, err
}

// sendDictionary sends a dictionary as one message, in the form that batches have. It is never cut: no reader would
// put it together again, other than by deltas, which not all know. The id is the read's schema's: a batch that was appended
// may have come with another.
func (r *Reader) sendDictionary(id int64, d *Dictionary, send func(*Message) error) error {
	v := d.values
	m := &Message{Dictionary: true}
	h := v.header
	if r.acceptable(v) {
		stored, err := r.store.openWhole(r.memory, v)
		if err != nil {
			return err
		}
		defer stored.release()
		m.Owner, m.BodyLength = stored.mem, v.size
		if v.size > 0 {
			m.Body = [][]byte{stored.mem.block.B}
		}
	} else {
		plain, block, err := r.store.decodeDictionary(r.memory, d)
		if err != nil {
			return err
		}
		if v.codec != compress.None {
			m.Decoded = plain.bytes()
		}
		h.Buffers, h.Compression = nil, arrowipc.Uncompressed
		layOut(&h, plain.bufs)
		if r.opts.Encode != compress.None {
			m.Encoded = plain.bytes()
			encoded, err := r.store.encodeBody(r.memory, &h, plain.bufs, r.opts.Encode, r.opts.Level)
			Free(&block)
			if err != nil {
				return err
			}
			block = encoded
		}
		owner := newResident(block)
		defer owner.Release()
		m.Owner, m.BodyLength = owner, int64(len(block.B))
		if m.BodyLength > 0 {
			m.Body = [][]byte{block.B}
		}
	}
	m.Header = r.header.DictionaryBatch(id, false, &h, m.BodyLength)
	return send(m)
}
