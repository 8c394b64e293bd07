package substrait_test

import (
	"errors"
	"testing"

	"github.com/flightcache/flightcache/predicate"
	"github.com/flightcache/flightcache/predicate/substrait"
)

// FuzzParse finds inputs that panic, in the parser or where its tree is bound, and errors of no kind.
func FuzzParse(f *testing.F) {
	for _, s := range readSamples(f) {
		f.Add(s.message(f))
	}
	f.Add(marshal(f, message(call(and, call(not, column(0)), call(equal, column(1, 0), precise(9))))))
	f.Add(marshal(f, message(call(equal, castTo(int64Type, column(0)), extension(f, 0, message(nil))))))
	resolve := predicate.InSchema(sampleSchema())
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := substrait.Parse(raw)
		if err != nil {
			kinds := 0
			for _, kind := range []error{substrait.ErrMalformed, predicate.ErrUnsupported, predicate.ErrLimit} {
				if errors.Is(err, kind) {
					kinds++
				}
			}
			if kinds != 1 || e != nil {
				t.Fatalf("%v, and an error of %d kinds: %v", e, kinds, err)
			}
			return
		}
		again, err := substrait.Parse(raw)
		if err != nil || again.String() != e.String() {
			t.Fatalf("%s is read again as %v, %v", e, again, err)
		}
		if p, err := predicate.Bind(e, resolve); err == nil && p.String() != e.String() {
			t.Fatalf("%s is bound as %s", e, p)
		}
	})
}
