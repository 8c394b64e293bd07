package compress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

func TestEmpty(t *testing.T) {
	p := newPool(t, Options{})
	for _, w := range ways {
		if got := mustAppend(t, p, []byte("x"), nil, w); string(got) != "x" {
			t.Errorf("%v: an empty buffer is stored as %x", w, got[1:])
		}
		if err := p.Decode(nil, nil, w.codec); err != nil {
			t.Errorf("%v: no bytes: %v", w, err)
		}
	}
	for _, c := range []Codec{LZ4, Zstd} {
		if err := p.Decode(nil, make([]byte, 8), c); err != nil {
			t.Errorf("%v: a prefix of 0 with nothing behind it: %v", c, err)
		}
		if err := p.Decode([]byte{}, bytes.Repeat([]byte{0xff}, 8), c); err != nil {
			t.Errorf("%v: a prefix of -1 with nothing behind it: %v", c, err)
		}
	}
	// A writer that frames nothing is also understood.
	if err := p.Decode(nil, stored(0, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0}), Zstd); err != nil {
		t.Errorf("an empty zstd frame: %v", err)
	}
	if err := p.Decode(nil, stored(0, lz4Frame(nil)), LZ4); err != nil {
		t.Errorf("an empty lz4 frame: %v", err)
	}
}

func TestRawWhereLittleIsSaved(t *testing.T) {
	p := newPool(t, Options{RetainBytes: 64 << 20})
	for _, w := range ways[1:] {
		for _, n := range []int{1, 7, 8, 100, 65536, 65537, 1 << 20} {
			src := noise(n)
			got := mustAppend(t, p, nil, src, w)
			raw, ok := Raw(got)
			if !ok || !bytes.Equal(raw, src) || int64(binary.LittleEndian.Uint64(got)) != -1 {
				t.Errorf("%v: %d bytes of noise are not stored raw", w, n)
			}
			if ok && n > 0 && &raw[0] != &got[8] {
				t.Errorf("%v: Raw copied", w)
			}
		}
		// Around the threshold: noise with more and more zeros at its end. The stored form is never above 95 % unless
		// it is raw, and both forms occur.
		var frames, raws int
		for zeros := 0; zeros < 2000; zeros += 50 {
			src := append(noise(20_000), make([]byte, zeros)...)
			got := mustAppend(t, p, nil, src, w)
			if _, ok := Raw(got); ok {
				raws++
			} else if frames++; len(got)*100 > len(src)*95 {
				t.Errorf("%v: %d bytes became a frame of %d, which saves less than 5 %%", w, len(src), len(got))
			}
		}
		if frames == 0 || raws == 0 {
			t.Errorf("%v: %d frames and %d raw buffers around the threshold", w, frames, raws)
		}
	}
}

func TestAppendInPlace(t *testing.T) {
	p := newPool(t, Options{RetainBytes: 64 << 20})
	for name, src := range samples() {
		for _, w := range ways[:5] { // the slower speeds write as much, only later
			dst := make([]byte, 3, 3+Bound(len(src)))
			got := mustAppend(t, p, dst, src, w)
			if &got[0] != &dst[0] {
				t.Errorf("%s, %v: dst had Bound bytes to spare and was moved", name, w)
			}
			if all := got[:cap(got)]; len(all) != 3+Bound(len(src)) {
				t.Errorf("%s, %v: capacity changed to %d", name, w, len(all))
			}
		}
	}
}

func TestEncoder(t *testing.T) {
	p := newPool(t, Options{Contexts: 1})
	for _, w := range ways {
		e, err := p.Encoder(w.codec, w.level)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for range 3 {
			if got, err = e.Append(got[:0], sequence(5000)); err != nil {
				t.Fatal(err)
			}
		}
		e.Release()
		e.Release() // does nothing
		if want := mustAppend(t, p, nil, sequence(5000), w); !bytes.Equal(got, want) {
			t.Errorf("%v: an Encoder and the Pool differ", w)
		}
		if _, err := e.Append(nil, []byte{1}); !errors.Is(err, ErrReleased) {
			t.Errorf("%v: after Release: %v", w, err)
		}
	}
}
