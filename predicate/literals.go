package predicate

import (
	"encoding/base64"
	"math"
	"math/big"
	"strings"
)

// real reads a literal as a point among the values of an operand with steps.
func (o *operand) real(l Literal) (real, error) {
	switch o.family {
	case famBool:
		if l.kind == litBool {
			return real{number: big.NewRat(int64(triOf(l.bit)), 1)}, nil
		}
	case famInt, famFloat, famDecimal:
		return o.numeric(l)
	case famDate, famTimestamp, famTime, famDuration:
		return o.temporal(l)
	}
	return real{}, o.mismatch(l)
}

func (o *operand) numeric(l Literal) (real, error) {
	switch l.kind {
	case litNumber:
		if o.isFloat && !l.whole {
			if f := nearest(l.number); !math.IsInf(f, 0) {
				return realOf(f), nil
			}
		}
		return real{number: l.number}, nil
	case litFloat:
		return realOf(l.float), nil
	case litText:
		switch o.family {
		case famDecimal:
			if n, _, ok := parseNumber(l.text); ok {
				return real{number: n}, nil
			}
			return real{}, o.misread(l, "a decimal number such as 12.50")
		case famFloat:
			switch l.text {
			case "NaN":
				return real{nan: true}, nil
			case "Infinity":
				return realOf(math.Inf(1)), nil
			case "-Infinity":
				return realOf(math.Inf(-1)), nil
			}
			return real{}, o.misread(l, `a number, "NaN", "Infinity" or "-Infinity"`)
		}
	}
	return real{}, o.mismatch(l)
}

// temporal reads literals of times, dates and durations, in seconds.
func (o *operand) temporal(l Literal) (real, error) {
	number := l.number
	fits := false
	switch l.kind {
	case litDate:
		number = new(big.Rat).Mul(l.number, secondsInDay)
		fits = o.family == famDate || o.family == famTimestamp
	case litTimestamp:
		fits = o.family == famDate && !l.zoned || o.family == famTimestamp && l.zoned == o.zoned
	case litTime:
		fits = o.family == famTime
	case litDuration:
		fits = o.family == famDuration
	case litText:
		return o.readTemporal(l)
	}
	if !fits {
		return real{}, o.mismatch(l)
	}
	return real{number: number}, nil
}

func (o *operand) readTemporal(l Literal) (real, error) {
	var (
		n    *big.Rat
		ok   bool
		want string
	)
	switch o.family {
	case famTime:
		want = "a time such as 13:45:00.5"
		n, ok = parseTime(l.text)
	case famDuration:
		want = "a duration of days or less such as P1DT2H30M or PT0.5S"
		n, ok = parseDuration(l.text)
	default:
		want = "a date, or a date and time, such as 2024-02-29 or 2024-02-29T13:45:00.5"
		var zoned bool
		n, zoned, ok = parseTimestamp(l.text)
		if ok && zoned && !o.zoned {
			return real{}, o.misread(l, "a date and time without a zone, as that type has none")
		}
	}
	if !ok {
		return real{}, o.misread(l, want)
	}
	return real{number: n}, nil
}

// bytes reads a literal as a value of a text or binary operand.
func (o *operand) bytes(l Literal) (string, error) {
	switch l.kind {
	case litString, litBytes:
		return l.text, nil
	case litText:
		if o.family == famText {
			return l.text, nil
		}
		b, err := base64.StdEncoding.DecodeString(l.text)
		if err != nil || strings.ContainsAny(l.text, "\r\n") {
			return "", o.misread(l, "base64 with padding, as binary is written")
		}
		return string(b), nil
	}
	return "", o.mismatch(l)
}
