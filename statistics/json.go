package statistics

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flightcache/flightcache/arrowipc"
)

// JSON is the value as what encoding/json writes for facts, spelled as literals of filters are: integers as numbers in full
// precision, floats as the shortest number of their width ("NaN", "Infinity", "-Infinity" as strings), decimals in plain
// digits, dates, times, timestamps and durations as ISO 8601, text as text, binary as base64. Timestamps with a zone are in
// UTC. It is nil for a class without order, and for text that is not UTF-8.
//
// f is the field that v is a value of.
func (v Value) JSON(f *arrowipc.Field) any {
	t := f.Type
	switch t.ID {
	case arrowipc.TypeDate:
		return formatDate(v.Int(), t.Unit)
	case arrowipc.TypeTime:
		return formatTime(v.Int(), t.Unit)
	case arrowipc.TypeTimestamp:
		return formatTimestamp(v.Int(), t.Unit, t.Timezone != "")
	case arrowipc.TypeDuration:
		return formatDuration(v.Int(), t.Unit)
	}
	switch ClassOf(f) {
	case Bool:
		return v.Boolean()
	case Signed:
		return v.Int()
	case Unsigned:
		return v.Uint()
	case Float:
		return floatJSON(v.Float64(), t.BitWidth)
	case Decimal:
		return formatDecimal(v.Decimal(), t.Scale)
	case Bytes:
		switch {
		case !isText(f):
			return base64.StdEncoding.EncodeToString([]byte(v.bytes))
		case utf8.ValidString(v.bytes):
			return v.bytes
		}
	}
	return nil
}

// floatJSON is a float of a width in bits. A half is written as a single: JSON knows no shorter form.
func floatJSON(x float64, width int) any {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	case width < 64:
		return float32(x)
	}
	return x
}

// longestScale is the most digits that are written behind or before the point of a decimal only for its scale, which a
// schema may set to any number.
const longestScale = 128

// formatDecimal writes an unscaled value with its point: 150 of scale 2 is 1.50.
func formatDecimal(unscaled *big.Int, scale int) string {
	digits := unscaled.String()
	switch {
	case scale == 0 || unscaled.Sign() == 0 && scale < 0:
		return digits
	case scale > longestScale || scale < -longestScale:
		return fmt.Sprintf("%sE%+d", digits, -int64(scale))
	case scale < 0:
		return digits + strings.Repeat("0", -scale)
	}
	digits, negative := strings.CutPrefix(digits, "-")
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	sign := ""
	if negative {
		sign = "-"
	}
	point := len(digits) - scale
	return sign + digits[:point] + "." + digits[point:]
}

// perSecond is how many of each time unit of Schema.fbs a second has: seconds, milliseconds, microseconds, nanoseconds.
var perSecond = [...]int64{1, 1e3, 1e6, 1e9}

const secondsPerDay = 24 * 60 * 60

// formatDate writes days (unit 0) or milliseconds (unit 1). The format asks that the milliseconds are whole days; where
// they are not, the time of the day is written too, so that a bound stays true.
func formatDate(x int64, unit int) string {
	if unit == 0 {
		return formatDay(x)
	}
	day, rest := floorDivide(x, secondsPerDay*1000)
	if rest == 0 {
		return formatDay(day)
	}
	return formatTimestamp(x, 1, false)
}

// formatTimestamp writes units since the epoch, with Z where they are an instant.
func formatTimestamp(x int64, unit int, zoned bool) string {
	seconds, fraction := floorDivide(x, perSecond[unit])
	day, clock := floorDivide(seconds, secondsPerDay)
	s := formatDay(day) + "T" + formatClock(uint64(clock)) + formatFraction(uint64(fraction), unit)
	if zoned {
		s += "Z"
	}
	return s
}

// formatDay writes a day since the epoch, years beyond 0 to 9999 with a sign. The calendar repeats every 400 years, of
// 146097 days, so all days can be written, and not only those that package time can hold.
func formatDay(day int64) string {
	const cycleDays, cycleYears = 146097, 400
	cycles, rest := floorDivide(day, cycleDays)
	t := time.Unix(rest*secondsPerDay, 0).UTC()
	year := int64(t.Year()) + cycles*cycleYears
	format := "%04d-%02d-%02d"
	if year < 0 || year > 9999 {
		format = "%+05d-%02d-%02d"
	}
	return fmt.Sprintf(format, year, int(t.Month()), t.Day())
}

// formatTime writes units since midnight. What is beyond a day is written as more hours.
func formatTime(x int64, unit int) string {
	sign, seconds, fraction := splitTime(x, unit)
	return sign + formatClock(seconds) + formatFraction(fraction, unit)
}

// formatDuration writes P1DT2H3M4.5S, and PT0S for none. A negative one has its sign in front.
func formatDuration(x int64, unit int) string {
	sign, seconds, fraction := splitTime(x, unit)
	var b strings.Builder
	b.WriteString(sign + "P")
	if days := seconds / secondsPerDay; days > 0 {
		fmt.Fprintf(&b, "%dD", days)
	}
	seconds %= secondsPerDay
	if seconds == 0 && fraction == 0 && b.Len() > len(sign)+1 {
		return b.String()
	}
	b.WriteByte('T')
	hours, minutes, rest := seconds/3600, seconds/60%60, seconds%60
	if hours > 0 {
		fmt.Fprintf(&b, "%dH", hours)
	}
	if minutes > 0 {
		fmt.Fprintf(&b, "%dM", minutes)
	}
	if rest > 0 || fraction > 0 || hours == 0 && minutes == 0 {
		fmt.Fprintf(&b, "%d%sS", rest, formatFraction(fraction, unit))
	}
	return b.String()
}

// splitTime is the sign, the whole seconds and the rest of a number of units. It is unsigned, because the magnitude of the
// least integer is.
func splitTime(x int64, unit int) (sign string, seconds, fraction uint64) {
	magnitude := uint64(x)
	if x < 0 {
		sign, magnitude = "-", -magnitude
	}
	n := uint64(perSecond[unit])
	return sign, magnitude / n, magnitude % n
}

func formatClock(seconds uint64) string {
	return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}

// formatFraction writes a fraction of a second with all digits of its unit, and nothing for none.
func formatFraction(fraction uint64, unit int) string {
	if fraction == 0 {
		return ""
	}
	digits := strconv.FormatUint(fraction, 10)
	return "." + strings.Repeat("0", 3*unit-len(digits)) + digits
}

// floorDivide divides towards negative infinity, by a positive divisor.
func floorDivide(x, by int64) (quotient, rest int64) {
	quotient, rest = x/by, x%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}
