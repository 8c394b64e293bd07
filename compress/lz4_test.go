package compress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// lz4Block is one block of a hand-made frame: its size word, then its bytes.
func lz4Block(raw bool, b string) []byte {
	word := uint32(len(b))
	if raw {
		word |= lz4RawBlock
	}
	return append(binary.LittleEndian.AppendUint32(nil, word), b...)
}

// lz4FrameOf makes a frame with the given descriptor, blocks and what follows them (an end mark as a rule).
func lz4FrameOf(descriptor []byte, rest ...[]byte) []byte {
	f := slices.Concat(lz4Magic[:], descriptor, []byte{lz4HeaderChecksum(descriptor)})
	return append(f, slices.Concat(rest...)...)
}

// lz4Frame makes a frame of one raw block.
func lz4Frame(b []byte) []byte {
	if len(b) == 0 {
		return lz4FrameOf([]byte{0x60, 0x40}, endMark)
	}
	return lz4FrameOf([]byte{0x60, 0x40}, lz4Block(true, string(b)), endMark)
}

var endMark = make([]byte, 4)

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func TestXXH32(t *testing.T) {
	// Values of the reference implementation.
	for in, want := range map[string]uint32{"": 0x02cc5d05, "a": 0x550d7456, "abc": 0x32d153ff,
		"Nobody inspects the spammish repetition": 0xe2293b2f} {
		if got := xxh32([]byte(in)); got != want {
			t.Errorf("xxh32(%q) = %#x, want %#x", in, got, want)
		}
	}
}

// The library's reader takes our frames: one block, three, a first one that does not shrink.
func TestLZ4ReadByLibrary(t *testing.T) {
	p := newPool(t, Options{})
	for name, src := range samples() {
		got := mustAppend(t, p, nil, src, way{LZ4, 0})
		if _, raw := Raw(got); raw || len(src) == 0 {
			continue
		}
		plain, err := io.ReadAll(lz4.NewReader(bytes.NewReader(got[8:])))
		if err != nil || !bytes.Equal(plain, src) {
			t.Errorf("%s: the library reads %d bytes of %d, %v", name, len(plain), len(src), err)
		}
	}
}

// We take the library's frames, whatever its options.
func TestLZ4WrittenByLibrary(t *testing.T) {
	p := newPool(t, Options{})
	for name, src := range samples() {
		if len(src) == 0 {
			continue
		}
		for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
			for flags := range 8 {
				if underRace && flags != 0 && flags != 7 {
					continue
				}
				var b bytes.Buffer
				w := lz4.NewWriter(&b)
				options := []lz4.Option{lz4.BlockSizeOption(size), lz4.ChecksumOption(flags&1 != 0), lz4.BlockChecksumOption(flags&2 != 0)}
				if flags&4 != 0 {
					options = append(options, lz4.SizeOption(uint64(len(src))))
				}
				if err := w.Apply(options...); err != nil {
					t.Fatal(err)
				}
				w.Write(src)
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				dst := make([]byte, len(src))
				if err := p.Decode(dst, stored(int64(len(src)), b.Bytes()), LZ4); err != nil || !bytes.Equal(dst, src) {
					t.Fatalf("%s, blocks of %v, flags %b: %v", name, size, flags, err)
				}
				// A flipped bit in a checked frame never passes, unless it means the same (another match with equal
				// bytes) and only the contents are checked.
				at := 20 + b.Len()/2
				if flags&3 == 0 || at >= b.Len() {
					continue
				}
				b.Bytes()[at] ^= 4
				err := p.Decode(dst, stored(int64(len(src)), b.Bytes()), LZ4)
				if !errors.Is(err, ErrCorrupt) && (flags&2 != 0 || err != nil || !bytes.Equal(dst, src)) {
					t.Errorf("%s, blocks of %v, flags %b, bit flipped at %d: %v", name, size, flags, at, err)
				}
			}
		}
	}
}

// Frames that pyarrow 26 (liblz4, libzstd) wrote of 200,000 bytes of text: linked LZ4 blocks, a Zstandard frame of a
// single segment, and one from a stream, without a content size.
func TestWrittenByArrowCpp(t *testing.T) {
	p := newPool(t, Options{})
	var want []byte
	for i := 0; len(want) < 200_000; i++ {
		want = append(want, "str_c_"...)
		want = append(want, itoa(i%900)...)
	}
	want = want[:200_000]
	for file, c := range map[string]Codec{"linked.lz4": LZ4, "single.zst": Zstd, "stream.zst": Zstd} {
		frame, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if c == LZ4 && frame[4]&lz4Independent != 0 {
			t.Errorf("%s: its blocks are not linked, it tests nothing", file)
		}
		dst := make([]byte, len(want))
		if err := p.Decode(dst, stored(int64(len(want)), frame), c); err != nil || !bytes.Equal(dst, want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func itoa(i int) []byte {
	if i < 10 {
		return []byte{byte('0' + i)}
	}
	return append(itoa(i/10), byte('0'+i%10))
}

func TestLZ4Damage(t *testing.T) {
	p := newPool(t, Options{})
	src := text(200_000)
	good := mustAppend(t, p, nil, src, way{LZ4, 0})[8:]
	abc := lz4Block(true, "abc")
	// A match 3 back of length 8, then the five literals that end a block.
	linked := lz4Block(false, "\x04\x03\x00\x50vwxyz")
	tests := []struct {
		name  string
		n     int
		frame []byte
		kind  error
		part  string
	}{
		{"bad magic", 200_000, append([]byte("abcd"), good[4:]...), ErrCorrupt, "61 62 63 64"},
		{"legacy frame", 3, append([]byte{0x02, 0x21, 0x4c, 0x18}, good[4:]...), ErrCorrupt, "02 21 4c 18"},
		{"cut magic", 3, good[:3], ErrCorrupt, "header"},
		{"cut header", 3, good[:6], ErrCorrupt, "header"},
		{"cut header with a size", 3, slices.Concat(lz4Magic[:], []byte{0x68, 0x40, 3, 0, 0, 0}), ErrCorrupt, "header"},
		{"version", 3, lz4FrameOf([]byte{0xa0, 0x40}, abc, endMark), ErrCorrupt, "version 2"},
		{"reserved flag", 3, lz4FrameOf([]byte{0x62, 0x40}, abc, endMark), ErrCorrupt, "reserved"},
		{"reserved size bits", 3, lz4FrameOf([]byte{0x60, 0x41}, abc, endMark), ErrCorrupt, "reserved"},
		{"block size code", 3, lz4FrameOf([]byte{0x60, 0x30}, abc, endMark), ErrCorrupt, "code 3"},
		{"dictionary", 3, lz4FrameOf([]byte{0x61, 0x40, 1, 0, 0, 0}, abc, endMark), ErrCorrupt, "dictionary"},
		{"header checksum", 3, slices.Concat(good[:6], []byte{good[6] + 1}, abc, endMark), ErrCorrupt, "header checksum"},
		{"content size", 3, lz4FrameOf(append([]byte{0x68, 0x40}, le64(4)...), abc, endMark), ErrCorrupt, "header says 4"},
		{"no end mark", 3, lz4FrameOf([]byte{0x60, 0x40}, abc), ErrCorrupt, "end mark, at byte 14"},
		{"cut end mark", 3, lz4FrameOf([]byte{0x60, 0x40}, abc, endMark[:3]), ErrCorrupt, "end mark"},
		{"no block at all", 3, lz4FrameOf([]byte{0x60, 0x40}, endMark), ErrCorrupt, "holds 0 bytes"},
		{"cut block", 3, lz4FrameOf([]byte{0x60, 0x40}, abc[:6]), ErrCorrupt, "block at byte 7"},
		{"overlong block", 70_000, lz4FrameOf([]byte{0x60, 0x40}, lz4Block(true, string(make([]byte, 65_537))), endMark), ErrCorrupt, "at most 65536"},
		{"block that decodes past its size", 70_000, lz4FrameOf([]byte{0x60, 0x40},
			lz4Block(false, "\x1fa\x01\x00"+string(bytes.Repeat([]byte{255}, 270))+"\x10\x50abcde"), endMark), ErrCorrupt, "65536"},
		{"raw block too long", 2, lz4FrameOf([]byte{0x60, 0x40}, abc, endMark), ErrCorrupt, "only 2"},
		{"garbage block", 100, lz4FrameOf([]byte{0x60, 0x40}, lz4Block(false, "\xff\xff\xff\xff"), endMark), ErrCorrupt, "damaged"},
		{"match before the start", 20, lz4FrameOf([]byte{0x60, 0x40}, linked, endMark), ErrCorrupt, "damaged"},
		{"link in an independent frame", 16, lz4FrameOf([]byte{0x60, 0x40}, abc, linked, endMark), ErrCorrupt, "damaged"},
		{"linked before the start", 16, lz4FrameOf([]byte{0x40, 0x40}, lz4Block(true, "ab"), linked, endMark), ErrCorrupt, "damaged"},
		{"block checksum", 3, lz4FrameOf([]byte{0x70, 0x40}, abc, le32(xxh32([]byte("abd"))), endMark), ErrCorrupt, "checksum"},
		{"block checksum missing", 3, lz4FrameOf([]byte{0x70, 0x40}, abc), ErrCorrupt, "needs 11 bytes, 7"},
		{"content checksum", 3, lz4FrameOf([]byte{0x64, 0x40}, abc, endMark, le32(7)), ErrCorrupt, "content checksum"},
		{"content checksum missing", 3, lz4FrameOf([]byte{0x64, 0x40}, abc, endMark), ErrCorrupt, "within its checksum"},
		{"two frames", 3, slices.Concat(lz4Frame([]byte("abc")), lz4Frame([]byte("abc"))), ErrNotOneFrame, "another frame at byte 18"},
		{"two frames for two", 6, slices.Concat(lz4Frame([]byte("abc")), lz4Frame([]byte("abc"))), ErrCorrupt, "holds 3"},
		{"bytes after", 3, append(lz4Frame([]byte("abc")), 0, 0), ErrNotOneFrame, "2 bytes after"},
		{"skippable", 3, slices.Concat([]byte{0x5f, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, lz4Frame([]byte("abc"))), ErrNotOneFrame, "skippable"},
		{"cut frame", 200_000, good[:len(good)-10], ErrCorrupt, "block at byte"},
	}
	for _, tt := range tests {
		checkRefused(t, p, tt.name, stored(int64(tt.n), tt.frame), LZ4, tt.n, tt.kind, tt.part)
	}

	for name, tt := range map[string]struct {
		want  string
		frame []byte
	}{
		"one block":          {"abc", lz4Frame([]byte("abc"))},
		"linked":             {"abcabcabcabvwxyz", lz4FrameOf([]byte{0x40, 0x40}, abc, linked, endMark)},
		"empty raw block":    {"abc", lz4FrameOf([]byte{0x60, 0x40}, lz4Block(true, ""), abc, endMark)},
		"empty block":        {"abc", lz4FrameOf([]byte{0x60, 0x40}, lz4Block(false, "\x00"), abc, lz4Block(false, "\x00"), endMark)},
		"content size":       {"abc", lz4FrameOf(append([]byte{0x68, 0x70}, le64(3)...), abc, endMark)},
		"both checksums":     {"abc", lz4FrameOf([]byte{0x74, 0x50}, abc, le32(0x32d153ff), endMark, le32(0x32d153ff))},
		"literals, no match": {"abcde", lz4FrameOf([]byte{0x60, 0x60}, lz4Block(false, "\x50abcde"), endMark)},
	} {
		dst := make([]byte, len(tt.want))
		if err := p.Decode(dst, stored(int64(len(dst)), tt.frame), LZ4); err != nil || string(dst) != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, dst, err, tt.want)
		}
	}
}
