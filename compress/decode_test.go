package compress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// stored puts a length prefix before a frame.
func stored(n int64, frame []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(n)), frame...)
}

// checkRefused decodes stored, which declares n bytes, into guarded memory, and wants an error of the given kind whose
// message holds part.
func checkRefused(t *testing.T, p *Pool, name string, b []byte, c Codec, n int, kind error, part string) {
	t.Helper()
	guard := bytes.Repeat([]byte{0xa5}, n+600)
	err := p.Decode(guard[300:300+n], b, c)
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: got %v; want %v with %q", name, err, kind, part)
	}
	if !bytes.Equal(guard[:300], guard[300+n:]) || bytes.Count(guard[:300], []byte{0xa5}) != 300 {
		t.Errorf("%s: the decoder wrote outside its destination", name)
	}
}

func TestPrefix(t *testing.T) {
	for _, c := range []Codec{LZ4, Zstd} {
		for name, b := range map[string][]byte{
			"cut":      make([]byte, 7),
			"one byte": {1},
			"negative": stored(-2, make([]byte, 40)),
			"lowest":   stored(math.MinInt64, make([]byte, 40)),
			"forged":   stored(1<<40, make([]byte, 40)),
			"highest":  stored(math.MaxInt64, make([]byte, 40)),
			"no frame": stored(1, nil),
		} {
			if n, err := DecodedLen(b, c); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v, %s: %d, %v", c, name, n, err)
			}
			if _, err := newPool(t, Options{}).DecodeLimit(b, c, math.MaxInt64); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v, %s: DecodeLimit: %v", c, name, err)
			}
		}
	}
	if _, ok := Raw(stored(5, []byte("frame"))); ok {
		t.Error("Raw takes a frame")
	}
	if _, ok := Raw([]byte{0xff, 0xff}); ok {
		t.Error("Raw takes two bytes")
	}
}

// The bounds in DecodedLen must not refuse what the densest frames hold.
func TestDensestFrames(t *testing.T) {
	p := newPool(t, Options{})
	for _, w := range ways[1:] {
		src := make([]byte, 16<<20)
		if n, err := DecodedLen(mustAppend(t, p, nil, src, w), w.codec); n != 16<<20 || err != nil {
			t.Errorf("%v: zeros: %d, %v", w, n, err)
		}
	}
	rle := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3} // no content size, a window of 128 KiB
	for i := range 1000 {
		rle = append(rle, bit(i == 999)|1<<1, 0, 0x10, 0) // a block of 128 KiB zeros
	}
	got, err := p.DecodeLimit(stored(1000<<17, rle), Zstd, 1<<30)
	if err != nil || len(got) != 1000<<17 {
		t.Errorf("1000 full RLE blocks: %d, %v", len(got), err)
	}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func TestLengthOffByOne(t *testing.T) {
	p := newPool(t, Options{})
	foreign, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	lengths := []int{100, 65536, 65537, 200_000, 1 << 20}
	if underRace {
		lengths = lengths[:4]
	}
	for _, n := range lengths {
		head := n - n/10
		src := append(text(head), noise(n-head)...) // so that the last block is a raw one
		frames := map[string][]byte{"none": src}
		for _, w := range ways[1:] {
			frames[w.codec.String()] = mustAppend(t, p, nil, src, w)[8:]
		}
		var b bytes.Buffer // a stream has no content size in its header
		foreign.Reset(&b)
		foreign.Write(src[:head])
		foreign.Flush()
		foreign.Write(src[head:])
		foreign.Close()
		frames["zstd, unsized"] = b.Bytes()
		for name, frame := range frames {
			c, err := ParseCodec(strings.TrimSuffix(name, ", unsized"))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []int{-1, 0, 1} {
				s := stored(int64(n+d), frame)
				if c == None {
					s = frame
				}
				if d != 0 {
					checkRefused(t, p, name, s, c, n+d, ErrCorrupt, "")
					continue
				}
				dst := make([]byte, n)
				if err := p.Decode(dst, s, c); err != nil || !bytes.Equal(dst, src) {
					t.Errorf("%s, %d bytes: %v", name, n, err)
				}
			}
			if err := p.Decode(make([]byte, n+1), stored(int64(n), frame), c); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: dst longer than declared: %v", name, err)
			}
		}
	}
}

func TestZstdDamage(t *testing.T) {
	p := newPool(t, Options{})
	src := text(300_000)
	good := mustAppend(t, p, nil, src, way{Zstd, 1})[8:]
	rawBlock := func(last byte, b string) []byte {
		return append([]byte{last | byte(len(b))<<3, 0, 0}, b...)
	}
	magic := good[:4]
	sized := slices.Concat(magic, []byte{0x20, 3}) // single segment, 3 bytes
	tests := []struct {
		name  string
		n     int
		frame []byte
		kind  error
		part  string
	}{
		{"bad magic", 300_000, append([]byte("abcd"), good[4:]...), ErrCorrupt, "61 62 63 64"},
		{"cut magic", 0, good[:3], ErrCorrupt, "header"},
		{"cut header", 3, good[:5], ErrCorrupt, "header"},
		{"header only", 3, sized, ErrCorrupt, "at byte 6"},
		{"cut block header", 3, append(sized[:6:6], 1, 0), ErrCorrupt, "at byte 6"},
		{"cut block", 3, append(sized[:6:6], 1|3<<3, 0, 0, 'a', 'b'), ErrCorrupt, "at byte 6"},
		{"no last block", 3, slices.Concat(sized, rawBlock(0, "abc")), ErrCorrupt, "at byte 12"},
		{"reserved block", 3, append(sized[:6:6], 1|3<<1|3<<3, 0, 0, 'a', 'b', 'c'), ErrCorrupt, "reserved"},
		{"reserved bit", 3, slices.Concat(magic, []byte{0x28, 3}, rawBlock(1, "abc")), ErrCorrupt, "reserved"},
		{"block too big", 3, append(sized[:6:6], 1|2<<1, 0, 0x20), ErrCorrupt, "block"},
		{"blocks too long", 3, slices.Concat(magic, []byte{0, 0}, rawBlock(0, "ab"), rawBlock(1, "cd")), ErrCorrupt, "more than"},
		{"blocks too short", 3, slices.Concat(magic, []byte{0, 0}, rawBlock(1, "ab")), ErrCorrupt, "at most 2"},
		{"size in the header", 4, slices.Concat(sized, rawBlock(1, "abc")), ErrCorrupt, "header says 3"},
		{"cut frame", 300_000, good[:len(good)-1], ErrCorrupt, ""},
		{"two frames", 6, slices.Concat(magic, []byte{0, 0}, rawBlock(1, "abc"), sized, rawBlock(1, "abc")), ErrCorrupt, ""},
		{"two frames, one needed", 3, slices.Concat(sized, rawBlock(1, "abc"), sized, rawBlock(1, "abc")), ErrNotOneFrame, "another frame at byte 12"},
		{"bytes after", 3, slices.Concat(sized, rawBlock(1, "abc"), []byte{0}), ErrNotOneFrame, "1 bytes after"},
		{"skippable", 3, slices.Concat([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, sized, rawBlock(1, "abc")), ErrNotOneFrame, "skippable"},
		{"skippable after", 3, slices.Concat(sized, rawBlock(1, "abc"), []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}), ErrNotOneFrame, "after"},
		{"dictionary", 3, slices.Concat(magic, []byte{0x21, 9, 3}, rawBlock(1, "abc")), ErrCorrupt, "dictionary 9"},
		{"window", 3, slices.Concat(magic, []byte{0, 18 << 3}, rawBlock(1, "abc")), ErrLimit, "268435456"},
		{"checksum missing", 3, slices.Concat(magic, []byte{0x24, 3}, rawBlock(1, "abc")), ErrCorrupt, "checksum"},
		{"checksum wrong", 3, slices.Concat(magic, []byte{0x24, 3}, rawBlock(1, "abc"), []byte{1, 2, 3, 4}), ErrCorrupt, "CRC"},
	}
	for _, tt := range tests {
		checkRefused(t, p, tt.name, stored(int64(tt.n), tt.frame), Zstd, tt.n, tt.kind, tt.part)
		// The context that failed is sound.
		dst := make([]byte, len(src))
		if err := p.Decode(dst, stored(int64(len(src)), good), Zstd); err != nil || !bytes.Equal(dst, src) {
			t.Fatalf("after %s: a good frame fails: %v", tt.name, err)
		}
	}
}
