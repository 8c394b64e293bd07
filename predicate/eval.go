package predicate

import (
	"fmt"
	"math/bits"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// Evaluator evaluates a predicate over batches, one after the other, and keeps the memory that it needs for that. Each
// goroutine needs its own.
type Evaluator struct {
	p       *Predicate
	rows    int
	vectors []*statistics.Vector
	tests   map[*leaf]tester
	free    [][]uint64 // bitmaps that are not in use
	decided map[question]answer
	keys    [64]int64
}

// question is what a leaf asks of the values of a dictionary, answer for which of them its outcome is that.
type (
	question struct {
		leaf *leaf
		want tri
	}
	answer struct {
		dictionary *statistics.Vector // only compared
		length     int64
		bits       []uint64
	}
)

// Evaluator gives a new evaluator. What lists need to be searched fast is made here, once.
func (p *Predicate) Evaluator() *Evaluator {
	e := &Evaluator{p: p, vectors: make([]*statistics.Vector, len(p.columns)), tests: map[*leaf]tester{}, decided: map[question]answer{}}
	walk(p.root, func(l *leaf) { e.tests[l] = newTester(l.set, p.columns[l.column].Column.Field.Type) })
	return e
}

// Eval sets a bit of selected for each row for which the predicate is true, clears those of the others, and gives the
// number of the former. Bits are in Arrow's order, least significant first; selected has at least (rows+7)/8 bytes, of
// which the bits past rows are cleared too.
//
// Column gives the vectors of the columns that [Predicate.Columns] gives, by their positions there; of one of a nested
// type only the validity is read. A dictionary is known again by its Vector's address: as long as the evaluator is used, a
// Vector that was a dictionary must not become another one. A vector of another kind, of fewer rows or with short
// buffers is [ErrVector].
func (e *Evaluator) Eval(rows int64, column func(int) *statistics.Vector, selected []byte) (int64, error) {
	if rows < 0 || int64(len(selected)) < (rows+7)/8 {
		return 0, fmt.Errorf("%w: %d rows and a bitmap of %d bytes", ErrVector, rows, len(selected))
	}
	defer clear(e.vectors)
	for i := range e.vectors {
		v := column(i)
		if err := e.p.columns[i].check(v, rows); err != nil {
			return 0, err
		}
		e.vectors[i] = v
	}
	e.rows = int(rows)
	words := e.node(e.p.root, yes)
	count := 0
	for i := range words {
		count += bits.OnesCount64(words[i])
	}
	store(selected[:(rows+7)/8], words)
	e.release(words)
	return int64(count), nil
}

// take gives a bitmap of a bit for each of n rows, of any content.
func (e *Evaluator) take(n int) []uint64 {
	words := (n + 63) / 64
	if last := len(e.free) - 1; last >= 0 {
		b := e.free[last]
		e.free = e.free[:last]
		if cap(b) >= words {
			return b[:words]
		}
	}
	return make([]uint64, words)
}

func (e *Evaluator) release(b []uint64) { e.free = append(e.free, b) }

// node gives the bitmap of the rows where a node's outcome is want. It is the caller's to release.
func (e *Evaluator) node(b bound, want tri) []uint64 {
	switch b := b.(type) {
	case *leaf:
		return e.leaf(b, e.vectors[b.column], e.rows, want)
	case *conj:
		return e.fold(b, b.args, no, want)
	case *disj:
		return e.fold(b, b.args, yes, want)
	case *choice:
		cond, not := e.pair(b.cond)
		undecided := e.neither(cond, not, want == null)
		e.and(cond, e.node(b.then, want))
		e.and(not, e.node(b.other, want))
		e.or(cond, not)
		e.or(cond, undecided)
		return cond
	case *remap:
		y, n := e.pair(b.arg)
		return e.remapped(b, y, n, want)
	}
	out := e.take(e.rows)
	fill(out, e.rows, b.(*constant).value == want)
	return out
}

// fold gives the rows of a conjunction or a disjunction, of which strong is the outcome of a node that decides it.
func (e *Evaluator) fold(b bound, args []bound, strong, want tri) []uint64 {
	if want == null {
		y, n := e.pair(b)
		out := e.neither(y, n, true)
		e.release(y)
		e.release(n)
		return out
	}
	out := e.node(args[0], want)
	for _, a := range args[1:] {
		if want == strong {
			e.or(out, e.node(a, want))
		} else if !e.and(out, e.node(a, want)) {
			break
		}
	}
	return out
}

// pair gives the bitmaps of the rows where a node is yes, and of those where it is no. They are the caller's to release.
// What is below choices is evaluated in pairs, because their conditions are needed so: no node is evaluated twice.
func (e *Evaluator) pair(b bound) (y, n []uint64) {
	switch b := b.(type) {
	case *conj:
		return e.foldPairs(b.args, e.intersect, e.or)
	case *disj:
		return e.foldPairs(b.args, e.or, e.intersect)
	case *choice:
		cond, not := e.pair(b.cond)
		thenYes, thenNo := e.pair(b.then)
		otherYes, otherNo := e.pair(b.other)
		for i := range cond {
			thenYes[i] = cond[i]&thenYes[i] | not[i]&otherYes[i]
			thenNo[i] = cond[i]&thenNo[i] | not[i]&otherNo[i]
		}
		for _, b := range [][]uint64{cond, not, otherYes, otherNo} {
			e.release(b)
		}
		return thenYes, thenNo
	case *remap:
		argYes, argNo := e.pair(b.arg)
		copyYes, copyNo := e.take(e.rows), e.take(e.rows)
		copy(copyYes, argYes)
		copy(copyNo, argNo)
		return e.remapped(b, argYes, argNo, yes), e.remapped(b, copyYes, copyNo, no)
	}
	return e.node(b, yes), e.node(b, no)
}

// foldPairs folds the pairs of nodes.
func (e *Evaluator) foldPairs(args []bound, foldYes, foldNo func(dst, src []uint64)) (y, n []uint64) {
	y, n = e.pair(args[0])
	for _, a := range args[1:] {
		nextYes, nextNo := e.pair(a)
		foldYes(y, nextYes)
		foldNo(n, nextNo)
	}
	return y, n
}

func (e *Evaluator) intersect(dst, src []uint64) { e.and(dst, src) }

// neither gives the rows that are in none of two bitmaps, if they are wanted, else no rows. It keeps both.
func (e *Evaluator) neither(a, b []uint64, wanted bool) []uint64 {
	out := e.take(e.rows)
	if !wanted {
		clear(out)
		return out
	}
	for i := range out {
		out[i] = ^(a[i] | b[i])
	}
	trim(out, e.rows)
	return out
}

// remapped gives the rows that a remap makes want of, by those where its node is yes and no. It takes over both.
func (e *Evaluator) remapped(m *remap, y, n []uint64, want tri) []uint64 {
	out := e.neither(y, n, m.to[null] == want)
	if m.to[yes] == want {
		e.or(out, y)
	} else {
		e.release(y)
	}
	if m.to[no] == want {
		e.or(out, n)
	} else {
		e.release(n)
	}
	return out
}

// or adds a bitmap to another, and releases it.
func (e *Evaluator) or(dst, src []uint64) {
	for i, w := range src {
		dst[i] |= w
	}
	e.release(src)
}

// and keeps of a bitmap what is in another, releases that, and reports whether anything is left.
func (e *Evaluator) and(dst, src []uint64) bool {
	var left uint64
	for i, w := range src {
		dst[i] &= w
		left |= dst[i]
	}
	e.release(src)
	return left != 0
}

// leaf gives the slots of a vector for which a leaf's outcome is want.
func (e *Evaluator) leaf(l *leaf, v *statistics.Vector, rows int, want tri) []uint64 {
	out := e.take(rows)
	switch {
	case v.Kind == arrowipc.KindNull:
		fill(out, rows, l.null == want)
		return out
	case v.Dictionary != nil:
		e.indexed(out, l, v, rows, want)
	case l.set == nil || (l.in == want) == (l.out == want):
		fill(out, rows, l.out == want)
	default:
		e.tests[l].test(out, v, rows, &e.keys)
		if l.out == want {
			complement(out, rows)
		}
	}
	if v.Dictionary == nil && (l.nan == want) != (l.out == want) && e.isFloat(l) {
		setNaN(out, v, rows, l.nan == want)
	}
	setNulls(out, v, rows, l.null == want)
	return out
}

func (e *Evaluator) isFloat(l *leaf) bool { return e.p.columns[l.column].domain.isFloat }

// indexed evaluates a leaf over the dictionary, and gives each row the outcome of its value.
func (e *Evaluator) indexed(out []uint64, l *leaf, v *statistics.Vector, rows int, want tri) {
	values := e.answer(l, v.Dictionary, want)
	size := uint64(v.Dictionary.Length)
	for i := range out {
		n := min(64, rows-64*i)
		load(&e.keys, v.Values, 64*i, n, v.Width, loadUnsigned)
		var w uint64
		for j, k := range e.keys[:n] {
			// A null may have any index. As unsigned, a negative one is none.
			if at := uint64(k); at < size {
				w |= values[at/64] >> (at % 64) & 1 << j
			}
		}
		out[i] = w
	}
}

// answer gives the values of a dictionary for which a leaf's outcome is want. They are found anew for another dictionary
// than that of the last batch only.
func (e *Evaluator) answer(l *leaf, dictionary *statistics.Vector, want tri) []uint64 {
	q := question{l, want}
	a, known := e.decided[q]
	if known && a.dictionary == dictionary && a.length == dictionary.Length {
		return a.bits
	}
	if known {
		e.release(a.bits)
	}
	a = answer{dictionary, dictionary.Length, e.leaf(l, dictionary, int(dictionary.Length), want)}
	e.decided[q] = a
	return a.bits
}
