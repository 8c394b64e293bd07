package batchstore

import "github.com/flightcache/flightcache/arrowipc"

// Run is a run of stored batches by their places in a list, the last excluded.
type Run struct{ First, Last int }

// fewest is how many batches the automatic joins take at least at the end of a list, where more may still come.
const fewest = 16

// Small tells whether the batch is worth joining with neighbours that are small too: it has less than Options.JoinBelow
// decoded and no custom metadata, and its put did not ask that its batches be kept.
func (b *Batch) Small() bool {
	return !b.apart && len(b.metadata) == 0 && b.total < b.store.opts.JoinBelow
}

// Joins finds the runs of a schema's stored batches that are worth joining, each into one batch, in order and apart.
//
// Neighbours are joined where both are small, are stored or to be stored under one codec, fit into one batch, and have their dictionaries
// in common or may have: they may have the rows and the bytes of a batch that a put would join. So a run ends where a batch
// is large, or is to stay as it is, and no run goes on behind it. Different dictionaries of one column become one, where
// that is easily told to be right (see united), and as long as they come to less than Options.JoinBelow together.
//
// With all, every such run of two batches or more is given. Without, they are only those that are worth it again and
// again while a list grows by small batches. A run behind which no batch can be added any more is joined once. Of others,
// as the last one, those at its end are joined of which none has more than half of what they have together, if they are
// many: each row that is written again then lies in a batch of at least twice the size, so that however long the list
// grows, a row is written again a number of times that is the logarithm of a full batch's size, not of the list's.
func (s *Store) Joins(l *arrowipc.Layout, batches []*Batch, all bool) (out []Run) {
	j := joins{store: s, most: s.storedLimit(l), layout: l, united: united(l)}
	end := func(last int, open bool) {
		run := Run{j.first, last}
		if open && !all && run.Last-run.First > 1 {
			if run.First = j.doubling(batches, run); run.Last-run.First < fewest {
				return
			}
		}
		if run.Last-run.First > 1 {
			out = append(out, run)
		}
	}
	for i, b := range batches {
		if i > 0 {
			takes, open := j.takes(batches[i-1], b)
			if takes {
				j.add(b)
				continue
			}
			end(i, open)
		}
		j.begin(i, b)
	}
	end(len(batches), true)
	return out
}

// joins adds up the run that begins at first.
type joins struct {
	store  *Store
	layout *arrowipc.Layout
	united []bool // by ordinal: several dictionaries can become one
	most   int64  // bytes of a stored body

	first       int
	rows, bytes int64
	variadic    int64 // data buffers of views
	dicts       map[*Dictionary]bool
	values      int64 // bytes of dicts
	mixed       bool  // some column has several
}

func (j *joins) begin(i int, b *Batch) {
	j.first, j.rows, j.bytes, j.variadic, j.values, j.mixed = i, 0, 0, 0, 0, false
	if len(j.united) > 0 {
		j.dicts = map[*Dictionary]bool{}
	}
	j.add(b)
}

func (j *joins) add(b *Batch) {
	j.rows += b.header.Rows
	j.bytes += b.total
	j.variadic += sum(b.header.Variadic)
	for _, d := range b.dicts {
		if !j.dicts[d] {
			j.dicts[d] = true
			j.values += d.values.total
		}
	}
	j.mixed = j.mixed || len(j.dicts) > len(b.dicts)
}

// takes tells whether b may be joined with the run, of which a is the last, and, if not, whether it may be another time: its
// dictionaries are too much for now.
func (j *joins) takes(a, b *Batch) (takes, open bool) {
	if !a.Small() || !b.Small() || a.goal() != b.goal() || !j.unitable(a, b) {
		return false, false
	}
	next := *j
	next.rows += b.header.Rows
	next.bytes += b.total
	next.variadic += sum(b.header.Variadic)
	if next.rows > j.store.opts.MaxBatchRows || next.bytes+next.beside() > j.most {
		return false, false
	}
	values, mixed := j.values, j.mixed
	for i, d := range b.dicts {
		mixed = mixed || d != a.dicts[i]
		if !j.dicts[d] {
			values += d.values.total
		}
	}
	fits := !mixed || values < j.store.opts.JoinBelow
	return fits, !fits
}

// unitable tells whether two batches have the same dictionaries, or such that can become one.
func (j *joins) unitable(a, b *Batch) bool {
	if len(a.dicts) != len(b.dicts) {
		return false
	}
	for i, d := range a.dicts {
		if d != b.dicts[i] && !j.united[i] {
			return false
		}
	}
	return true
}

// beside is what a joined batch may need beside the bytes of its parts: padding and a length for each buffer, and
// bitmaps where only some of them have one.
func (j *joins) beside() int64 {
	return 16*(int64(j.layout.Buf1)+j.variadic) + int64(j.layout.Node1)*bitBytes(j.rows)
}

// weight is the share of a full batch that a batch is, by rows and by bytes together: a joined batch has the sum.
func (j *joins) weight(b *Batch) float64 {
	return float64(b.header.Rows)/float64(j.store.opts.MaxBatchRows) + float64(b.total)/float64(j.most)
}

// doubling gives where the longest end of a run begins of which no batch has more than half of the weight.
func (j *joins) doubling(batches []*Batch, r Run) int {
	first := r.Last
	heaviest, total := 0.0, 0.0
	for i := r.Last - 1; i >= r.First; i-- {
		w := j.weight(batches[i])
		heaviest, total = max(heaviest, w), total+w
		if 2*heaviest <= total {
			first = i
		}
	}
	return first
}
