package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// encode gives a new batch a dictionary: one that batches of its dataset have, or another.
func (m *lifetimes) encode(b *fakeBatch, near []*fakeBatch) {
	switch m.one(3) {
	case 0:
		b.dictionaries = []fakeDictionary{{Key: 1_000_000 + b.id, Ordinal: 1, Decoded: 40, Stored: int64(16 + b.id)}}
	case 1:
		if len(near) > 0 {
			b.dictionaries = near[m.one(len(near))].dictionaries
		}
	}
}

// hold acquires the newest generation of a dataset, as a reader does.
func (m *lifetimes) hold() {
	name := m.name()
	if d := m.live(name); d != nil {
		g, err := m.c.Current(name)
		if err != nil {
			m.t.Fatal(err)
		}
		m.held = append(m.held, modelHeld{g, d.epoch, d.batches})
	}
}

func (m *lifetimes) letGo() {
	if len(m.held) > 0 {
		i := m.one(len(m.held))
		m.held[i].g.Release()
		m.held = slices.Delete(m.held, i, i+1)
	}
}

// compact replaces runs of the batches of a generation that is held, which may be its dataset's no more.
func (m *lifetimes) compact() {
	if len(m.held) == 0 {
		return
	}
	h := m.held[m.one(len(m.held))]
	var changes []Change
	var list, made []*fakeBatch
	next := 0
	for next < len(h.batches) {
		first := next + m.one(3)
		last := min(first+1+m.one(3), len(h.batches))
		if first >= last {
			break
		}
		b := newBatch(m.t, m.schema, len(m.all))
		m.all = append(m.all, b)
		b.rows = 0
		for _, x := range h.batches[first:last] {
			b.rows += x.rows
		}
		m.encode(b, h.batches[first:last])
		changes = append(changes, Change{first, last, []Batch{b}})
		list, made = append(append(list, h.batches[next:first]...), b), append(made, b)
		next = last
	}
	list = append(list, h.batches[next:]...)
	now, err := m.c.Compact(context.Background(), h.g, changes)
	d := m.live(h.g.Dataset)
	newest := d != nil && d.epoch == h.epoch
	if (err == nil) != newest || err != nil && !errors.Is(err, ErrConflict) {
		m.t.Fatalf("compact: %v, of the newest layout: %t", err, newest)
	}
	if err != nil {
		for _, b := range made {
			b.Release()
		}
		return
	}
	defer now.Release()
	d.batches = append(list, d.batches[len(h.batches):]...)
	m.epoch++
	d.epoch = m.epoch
	m.sized(now, d.batches)
}

// recode replaces batches of a generation that is held by as many with their rows and dictionaries. Leases on it go over.
func (m *lifetimes) recode() {
	if len(m.held) == 0 {
		return
	}
	h := m.held[m.one(len(m.held))]
	var changes []Change
	var made []*fakeBatch
	list := slices.Clone(h.batches)
	for i, old := range h.batches {
		if m.one(2) == 0 {
			continue
		}
		b := newBatch(m.t, m.schema, len(m.all))
		m.all = append(m.all, b)
		b.rows, b.dictionaries, b.large = old.rows, old.dictionaries, old.large
		list[i], made = b, append(made, b)
		if n := len(changes); n > 0 && changes[n-1].Last == i && m.one(2) == 0 {
			changes[n-1] = Change{changes[n-1].First, i + 1, append(changes[n-1].Batches, b)}
			continue
		}
		changes = append(changes, Change{i, i + 1, []Batch{b}})
	}
	if len(changes) == 0 {
		return
	}
	now, err := m.c.Recode(context.Background(), h.g, changes)
	d := m.live(h.g.Dataset)
	newest := d != nil && d.epoch == h.epoch
	if (err == nil) != newest || err != nil && !errors.Is(err, ErrConflict) || m.c.Newest(h.g) {
		m.t.Fatalf("recode: %v, of the newest layout: %t", err, newest)
	}
	if err != nil {
		for _, b := range made {
			b.Release()
		}
		return
	}
	defer now.Release()
	was := d.epoch
	d.batches = append(list, d.batches[len(h.batches):]...)
	m.epoch++
	d.epoch = m.epoch
	for i := range m.leases {
		if l := &m.leases[i]; l.generation == now.ID && l.epoch == was {
			l.batches, l.epoch = d.batches, d.epoch
		}
	}
	if now.Layout != h.g.Layout && now.ID == h.g.ID || !m.c.Newest(now) {
		m.t.Fatalf("layout %d became %d", h.g.Layout, now.Layout)
	}
	m.sized(now, d.batches)
}

func idsOf(batches []*fakeBatch) (out []int) {
	for _, b := range batches {
		out = append(out, b.id)
	}
	return out
}

// sized checks a generation's totals.
func (m *lifetimes) sized(g *Generation, batches []*fakeBatch) {
	var list []Batch
	for _, b := range batches {
		list = append(list, b)
	}
	if !slices.Equal(g.Batches, list) {
		m.t.Fatalf("generation %s, layout %d lists batches %v, want %v", g.ID, g.Layout, ids(g), list)
	}
	want := &Generation{Nodes: make([]NodeFacts, len(g.Nodes)), Dictionaries: map[int64]DictionaryFacts{}, known: map[any]bool{}}
	want.add(addUp(list, m.schema.Layout, nil))
	if g.Rows != want.Rows || g.Stored != want.Stored || g.Decoded != want.Decoded || g.small != want.small ||
		!slices.Equal(g.Nodes, want.Nodes) || !maps.Equal(g.Dictionaries, want.Dictionaries) {
		m.t.Fatalf("generation %s, layout %d: %d rows, %d stored, %d decoded, %d small, nodes %v, dictionaries %v; want %d, %d, %d, %d, %v, %v", g.ID, g.Layout,
			g.Rows, g.Stored, g.Decoded, g.small, g.Nodes, g.Dictionaries, want.Rows, want.Stored, want.Decoded, want.small, want.Nodes, want.Dictionaries)
	}
}
