package compress

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// fuzzDecode decodes b, declared to hold n bytes, between guards, and checks what must hold for any input.
func fuzzDecode(t *testing.T, p *Pool, c Codec, n uint32, frame []byte) {
	n %= 1 << 18
	b := stored(int64(n), frame)
	guard := bytes.Repeat([]byte{0xa5}, int(n)+600)
	dst := guard[300 : 300+n]
	err := p.Decode(dst, b, c)
	if !bytes.Equal(guard[:300], guard[300+n:]) || bytes.Count(guard[:300], []byte{0xa5}) != 300 {
		t.Fatal("the decoder wrote outside its destination")
	}
	if err != nil {
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrLimit) {
			t.Fatalf("an error without a kind: %v", err)
		}
		return
	}
	again := make([]byte, n)
	if err := p.Decode(again, b, c); err != nil || !bytes.Equal(again, dst) {
		t.Fatalf("decoded twice, the results differ: %v", err)
	}
	if err := p.Decode(make([]byte, n+1), stored(int64(n)+1, frame), c); err == nil {
		t.Fatal("the frame also decodes to one byte more")
	}
	if n > 0 {
		if err := p.Decode(make([]byte, n-1), stored(int64(n)-1, frame), c); err == nil {
			t.Fatal("the frame also decodes to one byte less")
		}
	}
}

// addFrames adds short frames only: the fuzzer makes little of long ones.
func addFrames(f *testing.F, p *Pool, w way, files ...string) {
	f.Add(uint32(0), []byte{})
	for _, src := range [][]byte{{}, text(50), text(2000), sequence(3000), append(noise(300), text(900)...), make([]byte, 140_000)} {
		if b := mustAppend(f, p, nil, src, w); len(b) > 8 {
			f.Add(uint32(len(src)), b[8:])
		}
	}
	for _, file := range files {
		frame, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint32(200_000), frame)
	}
}

func FuzzDecodeLZ4(f *testing.F) {
	p := newPool(f, Options{})
	addFrames(f, p, way{LZ4, 0})
	abc := []byte("abc")
	f.Add(uint32(3), lz4Frame(abc))
	f.Add(uint32(3), lz4FrameOf([]byte{0x74, 0x50}, lz4Block(true, "abc"), le32(xxh32(abc)), endMark, le32(xxh32(abc))))
	f.Add(uint32(16), lz4FrameOf([]byte{0x40, 0x40}, lz4Block(true, "abc"), lz4Block(false, "\x04\x03\x00\x50vwxyz"), endMark))
	f.Fuzz(func(t *testing.T, n uint32, frame []byte) { fuzzDecode(t, p, LZ4, n, frame) })
}

func FuzzDecodeZstd(f *testing.F) {
	p := newPool(f, Options{})
	addFrames(f, p, way{Zstd, 1}, "single.zst", "stream.zst")
	addFrames(f, p, way{Zstd, 7})
	f.Add(uint32(0), []byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, n uint32, frame []byte) { fuzzDecode(t, p, Zstd, n, frame) })
}

// FuzzStored gives whole stored buffers, prefix included, to everything that reads them.
func FuzzStored(f *testing.F) {
	p := newPool(f, Options{})
	for _, w := range ways[:5] {
		f.Add(int8(w.codec), mustAppend(f, p, nil, text(300), w))
		f.Add(int8(w.codec), mustAppend(f, p, nil, noise(300), w))
	}
	f.Add(int8(7), []byte("abc"))
	f.Fuzz(func(t *testing.T, codec int8, b []byte) {
		const limit = 1 << 20
		c := Codec(codec)
		n, lenErr := DecodedLen(b, c)
		got, err := p.DecodeLimit(b, c, limit)
		switch {
		case err == nil && (lenErr != nil || int64(len(got)) != n):
			t.Fatalf("decoded %d bytes, declared %d, %v", len(got), n, lenErr)
		case err != nil && lenErr == nil && n > limit && !errors.Is(err, ErrLimit):
			t.Fatalf("%d bytes over the limit: %v", n, err)
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrLimit) && !errors.Is(err, ErrUnknownCodec):
			t.Fatalf("an error without a kind: %v", err)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	p := newPool(f, Options{})
	f.Add(uint16(1), uint8(0), []byte("abc"))
	f.Add(uint16(4000), uint8(3), []byte("str_c_12345"))
	f.Add(uint16(300), uint8(1), noise(1000))
	f.Fuzz(func(t *testing.T, repeat uint16, which uint8, b []byte) {
		w := ways[int(which)%len(ways)]
		src := bytes.Repeat(b, min(int(repeat), 1+(1<<20)/(len(b)+1)))
		s, err := p.Append(nil, src, w.codec, w.level)
		if err != nil {
			t.Fatal(err)
		}
		if len(s) > Bound(len(src)) || len(s) > len(src)+8 {
			t.Fatalf("%d bytes became %d", len(src), len(s))
		}
		got, err := p.DecodeLimit(s, w.codec, int64(len(src)))
		if err != nil || !bytes.Equal(got, src) {
			t.Fatalf("%v: %v", w, err)
		}
	})
}
