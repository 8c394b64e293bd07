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
// Neighbours are joined where both are small, were stored under one codec, have their dictionaries in common, and fit
// into one batch: they may have the rows and the bytes of a batch that a put would join. So a run ends where a batch is
// large, or is to stay as it is, and no run goes on behind it.
//
// With all, every such run of two batches or more is given. Without, they are only those that are worth it again and
// again while a list grows by small batches. A run behind which no batch can be added any more is joined once. Of the
// last run, those at its end are joined of which none has more than half of what they have together, if they are
// many: each row that is written again then lies in a batch of at least twice the size, so that however long the list
// grows, a row is written again a number of times that is the logarithm of a full batch's size, not of the list's.
func (s *Store) Joins(l *arrowipc.Layout, batches []*Batch, all bool) []Run {
	var out []Run
	j := joins{store: s, most: s.storedLimit(l), layout: l}
	for i, b := range batches {
		if i > 0 && j.takes(batches[i-1], b) {
			j.add(b)
			continue
		}
		if run := (Run{j.first, i}); run.Last-run.First > 1 {
			out = append(out, run)
		}
		j.begin(i, b)
	}
	last := Run{j.first, len(batches)}
	if !all && last.Last-last.First > 1 {
		last.First = j.doubling(batches, last)
		if last.Last-last.First < fewest {
			return out
		}
	}
	if last.Last-last.First > 1 {
		out = append(out, last)
	}
	return out
}

// joins adds up the run that begins at first.
type joins struct {
	store  *Store
	layout *arrowipc.Layout
	most   int64 // bytes of a stored body

	first       int
	rows, bytes int64
	variadic    int64 // data buffers of views
}

func (j *joins) begin(i int, b *Batch) {
	j.first, j.rows, j.bytes, j.variadic = i, 0, 0, 0
	j.add(b)
}

func (j *joins) add(b *Batch) {
	j.rows += b.header.Rows
	j.bytes += b.total
	j.variadic += sum(b.header.Variadic)
}

// takes tells whether b may be joined with the run, of which a is the last.
func (j *joins) takes(a, b *Batch) bool {
	if !a.Small() || !b.Small() || a.codec != b.codec || !sameDictionaries(a, b) {
		return false
	}
	next := *j
	next.add(b)
	return next.rows <= j.store.opts.MaxBatchRows && next.bytes+next.beside() <= j.most
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
