package arrowipc

// Ordinals of the units of Schema.fbs.
const (
	unitSecond      = 0
	unitMillisecond = 1
	unitMicrosecond = 2
	unitNanosecond  = 3

	dateMillisecond = 1

	intervalMonthDayNano = 2
)

func isIntWidth(bits int) bool { return bits == 8 || bits == 16 || bits == 32 || bits == 64 }

// maxPrecision is the largest number of decimal digits that every value of so many bits can hold; 0 for other widths.
func maxPrecision(bits int) int {
	switch bits {
	case 32:
		return 9
	case 64:
		return 18
	case 128:
		return 38
	case 256:
		return 76
	}
	return 0
}

// parameters reads a type's own table into f.Type, whose ID is set. The defaults of absent slots are those of
// Schema.fbs.
func (p *fieldParser) parameters(f *Field, t view) error {
	ty := &f.Type
	switch ty.ID {
	case TypeInt:
		ty.BitWidth, ty.Signed = int(t.int32(0, 0)), t.bool(1)
		if !isIntWidth(ty.BitWidth) {
			return p.errorf(ErrUnsupported, "integers of %d bits", ty.BitWidth)
		}
	case TypeFloatingPoint:
		precision := t.int16(0, 0)
		if precision < 0 || precision > 2 {
			return p.errorf(ErrUnsupported, "floating point precision %d", precision)
		}
		ty.BitWidth = 16 << precision
	case TypeDecimal:
		ty.Precision, ty.Scale, ty.BitWidth = int(t.int32(0, 0)), int(t.int32(1, 0)), int(t.int32(2, 128))
		most := maxPrecision(ty.BitWidth)
		if most == 0 {
			return p.errorf(ErrUnsupported, "decimals of %d bits", ty.BitWidth)
		}
		if ty.Precision < 1 || ty.Precision > most {
			return p.errorf(ErrMalformed, "a decimal of %d bits with precision %d, where 1 to %d fit", ty.BitWidth, ty.Precision, most)
		}
	case TypeDate:
		return p.unit(ty, t, dateMillisecond, dateMillisecond)
	case TypeTime:
		ty.BitWidth = int(t.int32(1, 32))
		if err := p.unit(ty, t, unitMillisecond, unitNanosecond); err != nil {
			return err
		}
		if want := timeWidth(ty.Unit); ty.BitWidth != want {
			return p.errorf(ErrMalformed, "a time of unit %s with %d bits, where it has %d", unitNames[ty.Unit], ty.BitWidth, want)
		}
	case TypeTimestamp:
		ty.Timezone = string(t.bytes(1))
		return p.unit(ty, t, unitSecond, unitNanosecond)
	case TypeDuration:
		return p.unit(ty, t, unitMillisecond, unitNanosecond)
	case TypeInterval:
		return p.unit(ty, t, 0, intervalMonthDayNano)
	case TypeFixedSizeBinary:
		if ty.ByteWidth = int(t.int32(0, 0)); ty.ByteWidth < 0 {
			return p.errorf(ErrUnsupported, "fixed-size binary of %d bytes", ty.ByteWidth)
		}
	case TypeFixedSizeList:
		if ty.ListSize = int(t.int32(0, 0)); ty.ListSize < 0 {
			return p.errorf(ErrUnsupported, "a fixed-size list of %d values", ty.ListSize)
		}
	case TypeMap:
		ty.Sorted = t.bool(0)
	case TypeUnion:
		return p.union(ty, t)
	}
	return nil
}

// unit reads the unit of a date, time or interval type, which is in slot 0 and at most last.
func (p *fieldParser) unit(ty *Type, t view, absent, last int16) error {
	unit := t.int16(0, absent)
	if unit < 0 || unit > last {
		return p.errorf(ErrUnsupported, "unit %d of a date, time or interval", unit)
	}
	ty.Unit = int(unit)
	return nil
}

// timeWidth is the width that Schema.fbs prescribes for the unit of a Time.
func timeWidth(unit int) int {
	if unit <= unitMillisecond {
		return 32
	}
	return 64
}

func (p *fieldParser) union(ty *Type, t view) error {
	p.bitmaps = true
	mode := t.int16(0, 0)
	if mode != 0 && mode != 1 {
		return p.errorf(ErrUnsupported, "union mode %d", mode)
	}
	ty.Dense = mode == 1
	if _, ok := t.at(1); !ok {
		return nil
	}
	start, n := t.vector(1)
	if n > 128 {
		return p.errorf(ErrMalformed, "a union with %d type codes, where 128 are possible", n)
	}
	ty.TypeCodes = make([]int8, 0, n)
	for i := range n {
		code := int32(t.t.GetUint32(uoffset(start + 4*i)))
		if code < 0 || code > 127 {
			return p.errorf(ErrMalformed, "union type code %d, where they are 0 to 127", code)
		}
		ty.TypeCodes = append(ty.TypeCodes, int8(code))
	}
	return nil
}
