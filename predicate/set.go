package predicate

import (
	"cmp"
	"slices"
)

// set is a set of values of one column's domain: *keySet, *wideSet or *byteSet; nil is the empty set of any. NaN is in
// none.
type set interface {
	// meet tells, of values that lie between two of the domain, whether some may be in the set, and some not.
	meet(b bounds) (in, out bool)
}

// bounds are the least and the greatest value that a column may have, in the form that its sets have.
type bounds struct {
	lo, hi         int64 // formKeys
	wideLo, wideHi wide
	textLo, textHi string
	hasTextHi      bool // an absent lower bound of texts is ""
}

// keySet holds all from lo to hi, or of these only those of list, which is sorted and has no duplicates.
type keySet struct {
	lo, hi int64
	list   []int64
}

// wideSet is a keySet of wide integers.
type wideSet struct {
	lo, hi wide
	list   []wide
}

// byteSet holds the texts from lo to hi, each without its end if that is open, and without an upper end if there is
// none; or only those of list.
type byteSet struct {
	lo, hi         string
	loOpen, hiOpen bool
	endless        bool // no upper end
	list           []string
}

func (s *keySet) meet(b bounds) (in, out bool) {
	lo, hi := max(s.lo, b.lo), min(s.hi, b.hi)
	if lo > hi {
		return false, true
	}
	if s.list == nil {
		return true, s.lo > b.lo || s.hi < b.hi
	}
	from, _ := slices.BinarySearch(s.list, lo)
	to, found := slices.BinarySearch(s.list, hi)
	if found {
		to++
	}
	return to > from, uint64(to-from-1) != uint64(b.hi-b.lo)
}

func (s *wideSet) meet(b bounds) (in, out bool) {
	if s.hi.less(b.wideLo) || b.wideHi.less(s.lo) {
		return false, true
	}
	if s.list == nil {
		return true, b.wideLo.less(s.lo) || s.hi.less(b.wideHi)
	}
	from, found := slices.BinarySearchFunc(s.list, b.wideLo, compareWide)
	return from < len(s.list) && !b.wideHi.less(s.list[from]), !found || b.wideLo != b.wideHi
}

func (s *byteSet) meet(b bounds) (in, out bool) {
	if s.list != nil {
		from, found := slices.BinarySearch(s.list, b.textLo)
		in = from < len(s.list) && (!b.hasTextHi || s.list[from] <= b.textHi)
		return in, !found || !b.hasTextHi || b.textLo != b.textHi
	}
	above := s.endless || b.textLo < s.hi || b.textLo == s.hi && !s.hiOpen
	below := !b.hasTextHi || b.textHi > s.lo || b.textHi == s.lo && !s.loOpen
	startsIn := b.textLo > s.lo || b.textLo == s.lo && !s.loOpen
	endsIn := s.endless || b.hasTextHi && (b.textHi < s.hi || b.textHi == s.hi && !s.hiOpen)
	return above && below, !startsIn || !endsIn
}

func compareWide(a, b wide) int {
	for i := range a {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// isInterval reports whether a set is no list.
func isInterval(s set) bool {
	switch s := s.(type) {
	case *keySet:
		return s.list == nil
	case *wideSet:
		return s.list == nil
	case *byteSet:
		return s.list == nil
	}
	return true
}

// intersect gives the values that are in both of two intervals of one domain.
func intersect(a, b set) set {
	if a == nil || b == nil {
		return nil
	}
	switch a := a.(type) {
	case *keySet:
		b := b.(*keySet)
		return keysBetween(max(a.lo, b.lo), min(a.hi, b.hi))
	case *wideSet:
		r, b := *a, b.(*wideSet)
		if r.lo.less(b.lo) {
			r.lo = b.lo
		}
		if b.hi.less(r.hi) {
			r.hi = b.hi
		}
		if r.hi.less(r.lo) {
			return nil
		}
		return &r
	}
	return a.(*byteSet).intersect(b.(*byteSet))
}

// isPoints reports whether a set is a list, or of one value.
func isPoints(s set) bool {
	switch s := s.(type) {
	case *keySet:
		return s.list != nil || s.lo == s.hi
	case *wideSet:
		return s.list != nil || s.lo == s.hi
	case *byteSet:
		return s.list != nil || s.lo == s.hi && !s.endless
	}
	return false
}

// union gives all values of lists, or of sets of one value, of one domain.
func union(sets []set) set {
	var (
		keys  []int64
		wides []wide
		texts []string
	)
	for _, s := range sets {
		switch s := s.(type) {
		case *keySet:
			keys = appendPoints(keys, s.list, s.lo)
		case *wideSet:
			wides = appendPoints(wides, s.list, s.lo)
		case *byteSet:
			texts = appendPoints(texts, s.list, s.lo)
		}
	}
	switch {
	case keys != nil:
		return keyList(keys)
	case wides != nil:
		return wideList(wides)
	}
	return byteList(texts)
}

func appendPoints[T any](dst, list []T, one T) []T {
	if list != nil {
		return append(dst, list...)
	}
	return append(dst, one)
}

// keysBetween gives the keys from lo to hi.
func keysBetween(lo, hi int64) set {
	if lo > hi {
		return nil
	}
	return &keySet{lo: lo, hi: hi}
}

func (s *byteSet) intersect(o *byteSet) set {
	r := *s
	if o.lo > r.lo || o.lo == r.lo && o.loOpen {
		r.lo, r.loOpen = o.lo, o.loOpen
	}
	if !o.endless && (r.endless || o.hi < r.hi || o.hi == r.hi && o.hiOpen) {
		r.hi, r.hiOpen, r.endless = o.hi, o.hiOpen, false
	}
	if !r.endless && (r.lo > r.hi || r.lo == r.hi && (r.loOpen || r.hiOpen)) {
		return nil
	}
	return &r
}

// keyList gives the set of some keys; it takes over list.
func keyList(list []int64) set {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	list = slices.Compact(list)
	s := &keySet{lo: list[0], hi: list[len(list)-1]}
	if uint64(s.hi-s.lo) != uint64(len(list)-1) {
		s.list = list
	}
	return s
}

// wideList gives the set of some wide integers; it takes over list.
func wideList(list []wide) set {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, compareWide)
	list = slices.Compact(list)
	s := &wideSet{lo: list[0], hi: list[len(list)-1]}
	if len(list) > 1 {
		s.list = list
	}
	return s
}

// byteList gives the set of some texts; it takes over list.
func byteList(list []string) set {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	list = slices.Compact(list)
	s := &byteSet{lo: list[0], hi: list[len(list)-1]}
	if len(list) > 1 {
		s.list = list
	}
	return s
}

// prefixSet holds what begins with prefix.
func prefixSet(prefix string) set {
	last := len(prefix) - 1
	for last >= 0 && prefix[last] == 0xFF { // byte by byte: package strings would trim all that is not UTF-8
		last--
	}
	if last < 0 {
		return &byteSet{lo: prefix, endless: true}
	}
	return &byteSet{lo: prefix, hi: prefix[:last] + string([]byte{prefix[last] + 1}), hiOpen: true}
}
