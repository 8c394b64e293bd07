package compress

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestParseCodec(t *testing.T) {
	for _, c := range []Codec{None, LZ4, Zstd} {
		got, err := ParseCodec(c.String())
		if got != c || err != nil || !c.Valid() {
			t.Errorf("ParseCodec(%q) = %v, %v", c.String(), got, err)
		}
	}
	for _, name := range []string{"", "ZSTD", "gzip", "codec(7)"} {
		_, err := ParseCodec(name)
		if !errors.Is(err, ErrUnknownCodec) || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("ParseCodec(%q): %v", name, err)
		}
	}
	// The numbers are the format's.
	if None != -1 || LZ4 != 0 || Zstd != 1 {
		t.Error("a codec's number is not that of CompressionType")
	}
}

func TestUnknownCodec(t *testing.T) {
	p := newPool(t, Options{})
	for _, c := range []Codec{-128, -2, 2, 127} {
		_, err1 := p.Append(nil, []byte{1}, c, 0)
		_, err2 := p.Encoder(c, 0)
		_, err3 := DecodedLen(make([]byte, 9), c)
		_, err4 := p.DecodeLimit(make([]byte, 9), c, 100)
		err5 := p.Decode(nil, nil, c)
		for i, err := range []error{err1, err2, err3, err4, err5} {
			if !errors.Is(err, ErrUnknownCodec) || !strings.Contains(err.Error(), strconv.Itoa(int(c))) {
				t.Errorf("codec %d, call %d: %v", c, i+1, err)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {ZstdLevel: 1}, {ZstdLevel: 22, RetainBytes: 1, Contexts: 1}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	bad := Options{ZstdLevel: 23, RetainBytes: -1, Contexts: -2}
	_, err := New(bad)
	if !errors.Is(err, ErrLevel) {
		t.Errorf("level 23: %v", err)
	}
	for _, part := range []string{"ZstdLevel", "RetainBytes", "Contexts", "23", "-1", "-2"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
	if o := (Options{}).withDefaults(); o.ZstdLevel != 1 || o.RetainBytes != 8<<20 || o.Contexts != runtime.GOMAXPROCS(0) {
		t.Errorf("defaults are %+v", o)
	}
}

func TestLevels(t *testing.T) {
	p := newPool(t, Options{ZstdLevel: 7})
	for _, level := range []int{-1, 23, 1000} {
		if _, err := p.Append(nil, []byte("abc"), Zstd, level); !errors.Is(err, ErrLevel) {
			t.Errorf("level %d: %v", level, err)
		}
		if _, err := p.Append(nil, []byte("abc"), LZ4, level); err != nil {
			t.Errorf("lz4 does not ignore level %d: %v", level, err)
		}
	}
	// Level 0 is the pool's.
	src := sequence(100_000)
	def, seven, one := mustAppend(t, p, nil, src, way{Zstd, 0}), mustAppend(t, p, nil, src, way{Zstd, 7}), mustAppend(t, p, nil, src, way{Zstd, 1})
	if string(def) != string(seven) || string(def) == string(one) {
		t.Errorf("level 0 gave %d bytes, 7 gave %d, 1 gave %d", len(def), len(seven), len(one))
	}
	for level := MinZstdLevel; level <= MaxZstdLevel; level++ {
		want := speed(3)
		switch {
		case level <= 2:
			want = 0
		case level <= 5:
			want = 1
		case level <= 9:
			want = 2
		}
		if got, err := speedOf(level); got != want || err != nil {
			t.Errorf("level %d has speed %d, %v; want %d", level, got, err, want)
		}
	}
}
