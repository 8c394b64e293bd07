package plan

import "github.com/flightcache/flightcache/predicate"

// Range is a run of stored batches, the last excluded, with what it holds of the chosen columns. Batches that a filter
// leaves out are not counted; those that it may cut are, as a whole.
type Range struct {
	First, Last   int
	Rows, Decoded int64
}

// Partition cuts the read into n ranges of nearly equal plain bytes, in order: at most one for each batch, at least one,
// and one only where a limit counts rows across them.
func (r *Read) Partition(n int) []Range {
	batches := r.Generation.Batches
	if r.limited || n < 1 {
		n = 1
	}
	n = max(1, min(n, len(batches)))
	sizes := make([]int64, len(batches))
	total := int64(0)
	for i, b := range batches {
		if r.Verdict(i) == predicate.None {
			continue // costs nothing, wherever it falls
		}
		for _, span := range r.Projection.Spans {
			for node := span.Node0; node < span.Node1; node++ {
				sizes[i] += b.Node(node).Decoded
			}
		}
		sizes[i]++ // a batch without bytes is still one to send
		total += sizes[i]
	}
	out := make([]Range, 0, n)
	now := Range{}
	sum := int64(0)
	for i, b := range batches {
		// Cut before this batch if half of it or more lies behind the mark, and every range gets one.
		left := n - len(out) // ranges still to be made, this one included
		mark := int64(float64(total) * float64(len(out)+1) / float64(n))
		if i > now.First && left > 1 && (sum+sizes[i]/2 >= mark || len(batches)-i == left-1) {
			out = append(out, now)
			now = Range{First: i}
		}
		now.Last = i + 1
		if sizes[i] > 0 {
			now.Rows += b.Rows()
			now.Decoded += sizes[i] - 1
		}
		sum += sizes[i]
	}
	return append(out, now)
}
