package compress

import (
	"bytes"
	"testing"
)

// What a pool says that it has done is what was asked of it, by codec and direction; what costs nothing is not in it.
func TestUses(t *testing.T) {
	p := newPool(t, Options{})
	large, noisy := bytes.Repeat([]byte("twelve bytes"), 1000), noise(1000)
	want := map[Use]bool{}
	for _, c := range []Codec{None, LZ4, Zstd} {
		e, err := p.Encoder(c, 0)
		if err != nil {
			t.Fatal(err)
		}
		encode := func(src []byte) []byte {
			t.Helper()
			out, err := e.Append([]byte("before"), src)
			if err != nil {
				t.Fatal(err)
			}
			return out[len("before"):]
		}
		frame, raw := encode(large), encode(noisy)
		encode(nil)
		for _, u := range p.Uses() {
			if u.Encodes && u.Codec == c && u.Buffers > 0 {
				t.Errorf("%v: what is not released yet is counted: %+v", c, u)
			}
		}
		e.Release()
		e.Release() // counts nothing again
		for range 2 {
			if _, err := p.DecodeLimit(frame, c, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		for _, stored := range [][]byte{raw, nil} {
			if _, err := p.DecodeLimit(stored, c, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		if c == None {
			continue
		}
		if err := p.Decode(make([]byte, len(large)), append(bytes.Clone(frame[:8]), make([]byte, len(frame)-8)...), c); err == nil {
			t.Fatal("a damaged frame was decoded")
		}
		want[Use{Codec: c, Encodes: true, Buffers: 2, Plain: int64(len(large) + len(noisy)), Stored: int64(len(frame) + len(raw))}] = true
		want[Use{Codec: c, Encodes: false, Buffers: 2, Plain: 2 * int64(len(large)), Stored: 2 * int64(len(frame))}] = true
	}
	got := p.Uses()
	if len(got) != len(want) {
		t.Errorf("%d uses, want %d", len(got), len(want))
	}
	for _, u := range got {
		if u.Time <= 0 {
			t.Errorf("%+v took no time", u)
		}
		u.Time = 0
		if !want[u] {
			t.Errorf("%+v; want one of %v", u, want)
		}
	}
}
