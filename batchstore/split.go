package batchstore

import (
	"errors"
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
)

// measure plans runs as one batch of the columns, the given dictionaries decoded, and says into how many parts they
// should be cut first so that no body passes most bytes: 1 where they fit, and where cutting would not help. Errors are
// ErrTooLarge where a single row is too much for a batch.
func measure(columns []*arrowipc.Column, values map[int64]*dictionaryValues, runs []run, most int64) (*concatPlan, int64, error) {
	plan, err := concatDecoded(columns, runs, values)
	rows := totalRows(runs)
	switch {
	case errors.Is(err, errTooBig) && rows > 1:
		return nil, 2, nil
	case errors.Is(err, errTooBig):
		return nil, 0, fmt.Errorf("%w: one row: %w", ErrTooLarge, err)
	case err != nil:
		return nil, 0, err
	case plan.bodyLen <= most:
		return plan, 1, nil
	}
	return plan, worthwhile(columns, values, runs, plan.bodyLen, ceilDiv(plan.bodyLen, most)), nil
}

// worthwhile gives parts, at most one a row, if cutting runs into so many makes the whole no more than twice as large.
// It would where many rows refer to the same long value, as views may: cut to single rows, a few bytes of input would
// become gigabytes. Such a batch stays whole.
func worthwhile(columns []*arrowipc.Column, values map[int64]*dictionaryValues, runs []run, whole, parts int64) int64 {
	rows := totalRows(runs)
	parts = min(parts, rows)
	if parts <= 1 {
		return 1
	}
	sum := int64(0)
	for _, part := range splitRuns(runs, rows, parts) {
		plan, err := concatDecoded(columns, part, values)
		if err != nil {
			return 1 // what holds together as a whole holds together in parts; if not, leave it whole
		}
		if sum += plan.bodyLen; sum > 2*whole {
			return 1
		}
	}
	return parts
}

// splitRuns cuts runs of so many rows in all into parts of equal rows, the last perhaps shorter. Cuts fall on
// multiples of 64 rows where parts are large enough: bitmaps are then cut between words.
func splitRuns(runs []run, rows, parts int64) [][]run {
	each := ceilDiv(rows, parts)
	if each >= 1024 {
		each = (each + 63) &^ 63
	}
	var out [][]run
	var part []run
	room := each
	for _, r := range runs {
		for r.n > 0 {
			n := min(room, r.n)
			part = append(part, run{b: r.b, from: r.from, n: n})
			r.from, r.n, room = r.from+n, r.n-n, room-n
			if room == 0 {
				out, part, room = append(out, part), nil, each
			}
		}
	}
	if len(part) > 0 {
		out = append(out, part)
	}
	return out
}

func totalRows(runs []run) (n int64) {
	for _, r := range runs {
		n += r.n
	}
	return n
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
