package compress

import (
	"bytes"
	"errors"
	"testing"
)

// newPool makes a pool that is closed with the test.
func newPool(t testing.TB, o Options) *Pool {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// way is a codec with a level.
type way struct {
	codec Codec
	level int
}

var ways = []way{{None, 0}, {LZ4, 0}, {Zstd, 0}, {Zstd, 1}, {Zstd, 3}, {Zstd, 7}, {Zstd, 12}}

func mustAppend(t testing.TB, p *Pool, dst, src []byte, w way) []byte {
	t.Helper()
	out, err := p.Append(dst, src, w.codec, w.level)
	if err != nil {
		t.Fatalf("append %d bytes as %v: %v", len(src), w, err)
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	p := newPool(t, Options{RetainBytes: 64 << 20})
	for name, src := range samples() {
		for _, w := range ways {
			head := []byte("before")
			stored := mustAppend(t, p, head, src, w)
			if !bytes.HasPrefix(stored, head) {
				t.Fatalf("%s, %v: what was in dst before is gone", name, w)
			}
			stored = stored[len(head):]
			if len(stored) > len(src)+prefixLen {
				t.Errorf("%s, %v: %d bytes became %d", name, w, len(src), len(stored))
			}
			n, err := DecodedLen(stored, w.codec)
			if err != nil || n != int64(len(src)) {
				t.Fatalf("%s, %v: DecodedLen is %d, %v; want %d", name, w, n, err, len(src))
			}
			got, err := p.DecodeLimit(stored, w.codec, n)
			if err != nil || !bytes.Equal(got, src) {
				t.Fatalf("%s, %v: decoded %d bytes, %v; differ from the %d put in", name, w, len(got), err, len(src))
			}
			if n > 0 {
				if _, err := p.DecodeLimit(stored, w.codec, n-1); !errors.Is(err, ErrLimit) {
					t.Errorf("%s, %v: a limit of one byte less gave %v", name, w, err)
				}
			}
		}
	}
}
