package predicate

import (
	"math/big"
	"strconv"
	"strings"
	"time"
)

// maxISO is the most bytes of a date, a time or a duration.
const maxISO = 100

// secondsOf gives whole seconds and the digits of a fraction.
func secondsOf(whole int64, fraction string) *big.Rat {
	n := new(big.Rat).SetInt64(whole)
	if fraction != "" {
		f, _ := new(big.Int).SetString(fraction, 10)
		r := new(big.Rat).SetInt(f)
		n.Add(n, r.Mul(r, powerOfTen(-len(fraction))))
	}
	return n
}

// parseTimestamp reads an ISO 8601 date, or a date and time, as seconds since the epoch. Between them is T or a space; the
// time may lack its seconds, and may end with Z or an offset such as +01:00, which zoned tells. Years that have not four
// digits need a sign.
func parseTimestamp(s string) (n *big.Rat, zoned, ok bool) {
	if len(s) > maxISO {
		return nil, false, false
	}
	days, rest, ok := parseDay(s)
	if !ok {
		return nil, false, false
	}
	const day = 24 * 60 * 60
	n = new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(days), big.NewInt(day)))
	if rest == "" {
		return n, false, true
	}
	if rest[0] != 'T' && rest[0] != 't' && rest[0] != ' ' {
		return nil, false, false
	}
	clock, offset := rest[1:], int64(0)
	if i := strings.IndexAny(clock, "Zz+-"); i >= 0 {
		if offset, ok = parseOffset(clock[i:]); !ok {
			return nil, false, false
		}
		clock, zoned = clock[:i], true
	}
	whole, fraction, ok := parseClock(clock)
	if !ok || whole >= day {
		return nil, false, false
	}
	return n.Add(n, secondsOf(whole-offset, fraction)), zoned, true
}

// parseDay reads the date that s begins with, as days since the epoch.
func parseDay(s string) (days int64, rest string, ok bool) {
	unsigned, sign := s, int64(1)
	if s != "" && (s[0] == '+' || s[0] == '-') {
		unsigned = s[1:]
		if s[0] == '-' {
			sign = -1
		}
	}
	text, rest := digits(unsigned)
	signed := len(unsigned) < len(s)
	if len(text) < 4 || len(text) > 18 || !signed && len(text) != 4 {
		return 0, "", false
	}
	if len(rest) < len("-02-29") || rest[0] != '-' || rest[3] != '-' {
		return 0, "", false
	}
	year, _ := strconv.ParseInt(text, 10, 64)
	year *= sign
	month, ok1 := twoDigits(rest[1:3], 12)
	day, ok2 := twoDigits(rest[4:6], 31)
	if !ok1 || !ok2 || month == 0 || day == 0 {
		return 0, "", false
	}
	// The calendar repeats every 400 years, of 146097 days: package time sees years from 2000 to 2399 only.
	const cycleYears, cycleDays = 400, 146097
	cycles := (year - 2000) / cycleYears
	if (year-2000)%cycleYears < 0 {
		cycles--
	}
	t := time.Date(int(year-cycles*cycleYears), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	if t.Day() != int(day) {
		return 0, "", false
	}
	return t.Unix()/(24*60*60) + cycles*cycleDays, rest[6:], true
}

// parseOffset reads Z, +hh, +hhmm or +hh:mm as seconds.
func parseOffset(s string) (int64, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	sign, s := s[0], s[1:]
	if len(s) == 5 && s[2] == ':' {
		s = s[:2] + s[3:]
	}
	if len(s) == 2 {
		s += "00"
	}
	if len(s) != 4 || sign != '+' && sign != '-' {
		return 0, false
	}
	hours, ok1 := twoDigits(s[:2], 23)
	minutes, ok2 := twoDigits(s[2:], 59)
	offset := hours*3600 + minutes*60
	if sign == '-' {
		offset = -offset
	}
	return offset, ok1 && ok2
}

// parseTime reads an ISO 8601 time of day as seconds. More hours than a day has, and a sign, are read too: columns may
// hold them.
func parseTime(s string) (*big.Rat, bool) {
	if len(s) > maxISO {
		return nil, false
	}
	s, negative := strings.CutPrefix(s, "-")
	whole, fraction, ok := parseClock(s)
	if !ok {
		return nil, false
	}
	n := secondsOf(whole, fraction)
	if negative {
		n.Neg(n)
	}
	return n, true
}

// parseClock reads hh:mm, hh:mm:ss or hh:mm:ss.f.
func parseClock(s string) (whole int64, fraction string, ok bool) {
	text, rest := digits(s)
	if len(text) < 2 || len(text) > 12 || len(rest) < 3 || rest[0] != ':' {
		return 0, "", false
	}
	hours, _ := strconv.ParseInt(text, 10, 64)
	minutes, ok := twoDigits(rest[1:3], 59)
	whole, rest = hours*3600+minutes*60, rest[3:]
	if !ok || rest == "" {
		return whole, "", ok
	}
	if len(rest) < 3 || rest[0] != ':' {
		return 0, "", false
	}
	seconds, ok := twoDigits(rest[1:3], 59)
	whole, rest = whole+seconds, rest[3:]
	if !ok || rest == "" {
		return whole, "", ok
	}
	if rest[0] != '.' && rest[0] != ',' {
		return 0, "", false
	}
	fraction, rest = digits(rest[1:])
	return whole, fraction, fraction != "" && rest == ""
}

// parseDuration reads an ISO 8601 duration of weeks, days, hours, minutes and seconds; the seconds may have a fraction.
// Years and months have no fixed length.
func parseDuration(s string) (*big.Rat, bool) {
	if len(s) > maxISO {
		return nil, false
	}
	s, negative := strings.CutPrefix(s, "-")
	s, ok := strings.CutPrefix(s, "P")
	if !ok {
		return nil, false
	}
	units, length := "WDTHMS", [...]int64{7 * 86400, 86400, 0, 3600, 60, 1}
	total, parts, next := new(big.Rat), 0, 0
	for s != "" {
		if s[0] == 'T' && next <= 2 {
			s, next = s[1:], 3
			if s == "" {
				return nil, false
			}
			continue
		}
		whole, rest := digits(s)
		fraction := ""
		if rest != "" && (rest[0] == '.' || rest[0] == ',') {
			if fraction, rest = digits(rest[1:]); fraction == "" || rest != "S" {
				return nil, false
			}
		}
		if whole == "" || rest == "" {
			return nil, false
		}
		i := strings.IndexByte(units, rest[0])
		if i < next || i > 1 && next < 3 {
			return nil, false
		}
		n, _ := new(big.Int).SetString(whole, 10)
		n.Mul(n, big.NewInt(length[i]))
		total.Add(total, new(big.Rat).SetInt(n)).Add(total, secondsOf(0, fraction))
		s, next, parts = rest[1:], i+1, parts+1
	}
	if negative {
		total.Neg(total)
	}
	return total, parts > 0
}

// twoDigits reads a number of two digits, at most most.
func twoDigits(s string, most int64) (int64, bool) {
	d, rest := digits(s)
	if len(d) != 2 || rest != "" {
		return 0, false
	}
	n, _ := strconv.ParseInt(d, 10, 64)
	return n, n <= most
}
