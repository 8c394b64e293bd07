package statistics

import "fmt"

// AppendPlace appends the binary form of p, a place among values of that class, to dst: a byte (0 a value, 1 NaN, 2 null) and,
// of a value, what [AppendColumn] writes for a bound, however long it is.
func AppendPlace(dst []byte, p Place, class Class) []byte {
	dst = append(dst, byte(p.rank))
	if p.rank == rankValue {
		dst = p.value.appendBinary(dst, class)
	}
	return dst
}

// ConsumePlace reads the binary form of a place among values of that class from the front of b, and gives what follows it.
// Nothing of b is kept. The error is [ErrBinary].
func ConsumePlace(b []byte, class Class) (p Place, rest []byte, err error) {
	if len(b) == 0 || rank(b[0]) > rankNull || rank(b[0]) == rankNaN && class != Float {
		return Place{}, nil, fmt.Errorf("%w: no place", ErrBinary)
	}
	p.rank = rank(b[0])
	if p.rank != rankValue {
		return p, b[1:], nil
	}
	r := reader{b: b[1:]}
	if class == Bytes {
		p.value = Value{bytes: string(r.take(r.uvarint()))}
	} else {
		p.value = r.value(class)
	}
	if r.failed {
		return Place{}, nil, fmt.Errorf("%w: a place's value is cut off, or too large", ErrBinary)
	}
	return p, r.b, nil
}
