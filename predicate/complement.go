package predicate

// nonMembership is the negation of membership.
var nonMembership = outcomes{in: no, out: yes, null: null, nan: yes}

// interval gives a negated test as one of an interval, where what lies outside of its set is one: not k < 5 as k >= 5. Then
// a conjunction finds that two tests of a column leave nothing. Floats have NaN besides, which stays outside of k >= 5.
func (p *Predicate) interval(b bound) bound {
	l, ok := b.(*leaf)
	if !ok || l.outcomes != nonMembership {
		return b
	}
	d := &p.columns[l.column].domain
	if d.isFloat || d.form == formNone {
		return b
	}
	s, ok := d.complement(l.set)
	if !ok {
		return b
	}
	return &leaf{l.column, s, membership}
}

// complement gives the interval of what is not in a set; ok is false where that is no interval.
func (d *domain) complement(s set) (out set, ok bool) {
	switch s := s.(type) {
	case nil:
		return d.whole(), true
	case *keySet:
		lo, hi := d.key(d.min), d.key(d.max)
		switch {
		case s.list != nil || s.lo != lo && s.hi != hi:
			return nil, false
		case s.lo == lo && s.hi == hi:
			return nil, true
		case s.lo == lo:
			return keysBetween(s.hi+1, hi), true
		}
		return keysBetween(lo, s.lo-1), true
	case *byteSet:
		switch {
		case s.list != nil:
			return nil, false
		case s.lo == "" && !s.loOpen && s.endless:
			return nil, true
		case s.lo == "" && !s.loOpen:
			return &byteSet{lo: s.hi, loOpen: !s.hiOpen, endless: true}, true
		case s.endless:
			return &byteSet{hi: s.lo, hiOpen: !s.loOpen}, true
		}
	case *wideSet:
		lo, hi := wideOf(d.min), wideOf(d.max)
		switch {
		case s.list != nil || s.lo != lo && s.hi != hi:
			return nil, false
		case s.lo == lo && s.hi == hi:
			return nil, true
		case s.lo == lo:
			return &wideSet{lo: s.hi.next(), hi: hi}, true
		}
		return &wideSet{lo: lo, hi: s.lo.previous()}, true
	}
	return nil, false
}

// whole is the set of all values.
func (d *domain) whole() set {
	switch d.form {
	case formKeys:
		return &keySet{lo: d.key(d.min), hi: d.key(d.max)}
	case formWide:
		return &wideSet{lo: wideOf(d.min), hi: wideOf(d.max)}
	}
	return &byteSet{endless: true}
}
