package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

func TestRoundTrip(t *testing.T) {
	r := seeded(t)
	p := newPool(t, 2)
	for _, sync := range []bool{false, true} {
		for batches := range 5 {
			c := randomContent(t, r, batches, 300)
			path := filepath.Join(t.TempDir(), "segment.arrow")
			written, err := c.finish(t, p, path, sync)
			if err != nil {
				t.Fatal(err)
			}
			opened, err := p.Open(path, arrowipc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []*File{written, opened} {
				if f.Path() != path || f.Size() != info.Size() {
					t.Fatalf("%s of %d bytes, want %s of %d", f.Path(), f.Size(), path, info.Size())
				}
				for range 2 {
					if err := c.require(t, f); err != nil {
						t.Fatal(err)
					}
					f.Trim()
				}
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
			}
			if written.Schema() != opened.Schema() {
				t.Error("files of one schema do not share it")
			}
			if written.Bytes() != opened.Bytes() || written.Bytes() < 100 {
				t.Errorf("%d and %d bytes in memory", written.Bytes(), opened.Bytes())
			}
			written.Close()
			if err := opened.Remove(); err != nil {
				t.Fatal(err)
			}
			if err := opened.Remove(); err != nil {
				t.Errorf("removed again: %v", err)
			}
			if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) > 0 {
				t.Errorf("%v is left, %v", names, err)
			}
			if batches > 0 {
				if _, err := written.Batch(0); !errors.Is(err, ErrClosed) {
					t.Errorf("a closed file: %v", err)
				}
			}
		}
	}
}

// Every run of columns can be read by itself, and the runs one after the other are the body.
func TestReadColumns(t *testing.T) {
	r := seeded(t)
	p := newPool(t, 2)
	c := randomContent(t, r, 3, 100)
	path := filepath.Join(t.TempDir(), "segment.arrow")
	f, err := c.finish(t, p, path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := c.schema.Layout
	n := len(l.Columns)
	for i, want := range c.batches {
		h := &want.facts.Header
		next := int64(0)
		for first := range n + 1 {
			for last := first; last <= n; last++ {
				at, length := Range(l, h, want.facts.Body, first, last)
				got := make([]byte, length)
				if err := f.ReadBatch(i, h, first, last, got); err != nil || !bytes.Equal(got, want.body[at:at+length]) {
					t.Fatalf("batch %d, columns %d to %d: %v, or other bytes", i, first, last, err)
				}
				if err := f.ReadBatch(i, h, first, last, append(got, 0)); err == nil {
					t.Fatal("a destination that is too long was filled")
				}
				if last == first+1 {
					if at != next {
						t.Fatalf("batch %d: column %d begins at %d, not %d", i, first, at, next)
					}
					next += length
					for b := l.Columns[first].Buf0 + sum(l, h, first); b < l.Columns[first].Buf1+sum(l, h, last); b++ {
						if x := h.Buffers[b]; x.Offset < at || x.Offset+x.Length > at+length {
							t.Fatalf("batch %d: buffer %d lies outside of column %d", i, b, first)
						}
					}
				}
			}
		}
		if next != want.facts.Body {
			t.Fatalf("batch %d: the columns end at %d of %d", i, next, want.facts.Body)
		}
	}
}

// The file is an Arrow IPC file by the letter: frames, alignments, and headers that say what the facts say.
func TestFileIsArrow(t *testing.T) {
	r := seeded(t)
	p := newPool(t, 2)
	c := randomContent(t, r, 4, 200)
	path := filepath.Join(t.TempDir(), "segment.arrow")
	c.write(t, p, path)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(raw, []byte("ARROW1\x00\x00\xff\xff\xff\xff")) || !bytes.HasSuffix(raw, []byte("ARROW1")) {
		t.Fatal("the magic is not there")
	}
	if !bytes.HasPrefix(raw[8:], c.schema.Encapsulated()) {
		t.Fatal("the schema message is not the schema's own")
	}
	length := int(binary.LittleEndian.Uint32(raw[len(raw)-10:]))
	at := len(raw) - 10 - length
	footer, err := arrowipc.ReadFooter(raw[at:at+length], arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if at%8 != 0 || !bytes.HasSuffix(raw[:at], []byte("\xff\xff\xff\xff\x00\x00\x00\x00")) {
		t.Errorf("no end of the messages before the footer at %d", at)
	}
	schema, err := footer.Schema()
	if err != nil || schema.Diff(c.schema) != "" || !reflect.DeepEqual(schema.Metadata, c.schema.Metadata) {
		t.Errorf("the footer's schema is another: %v", err)
	}
	next := int64(8 + len(c.schema.Encapsulated()))
	for i, b := range append(footer.Dictionaries, footer.Batches...) {
		var want item
		if i < len(c.dictionaries) {
			want = c.dictionaries[i]
		} else {
			want = c.batches[i-len(c.dictionaries)]
		}
		if b.Offset != next || (b.Offset+int64(b.Header))%64 != 0 || b.Body != (want.facts.Body+7)&^7 {
			t.Fatalf("message %d is %+v, and should begin at %d", i, b, next)
		}
		next = b.End()
		header, err := arrowipc.EncapsulatedMessage(raw[b.Offset:b.Offset+int64(b.Header)], arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if binary.LittleEndian.Uint32(raw[b.Offset:]) != 0xFFFFFFFF || len(header) != int(b.Header)-8 {
			t.Errorf("message %d has no marker, or another length", i)
		}
		m, err := arrowipc.ReadMessage(header, arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		h := want.facts.Header
		if m.BodyLength != b.Body || m.Batch.Rows != h.Rows || len(m.Batch.Buffers) != len(h.Buffers) || m.Batch.Compression != h.Compression ||
			len(m.Metadata) != len(want.facts.Metadata) {
			t.Errorf("message %d says %+v, want %+v", i, m.Batch, h)
		}
		for k, x := range h.Buffers {
			if m.Batch.Buffers[k] != x {
				t.Errorf("message %d: buffer %d is %+v, want %+v", i, k, m.Batch.Buffers[k], x)
			}
		}
		from := b.Offset + int64(b.Header)
		if !bytes.Equal(raw[from:from+want.facts.Body], want.body) {
			t.Errorf("message %d has another body", i)
		}
	}
	if next+8 != int64(at) {
		t.Errorf("the messages end at %d, the footer begins at %d", next, at)
	}
}

// A schema message whose length is no multiple of eight comes back as long as it was.
func TestSchemaBytes(t *testing.T) {
	p := newPool(t, 1)
	whole := variedSchema(t).Message()
	for extra := range 9 {
		schema, err := arrowipc.ParseSchema(append(bytes.Clone(whole), make([]byte, extra)...), arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		c := &content{schema: schema}
		path := filepath.Join(t.TempDir(), "segment.arrow")
		c.write(t, p, path)
		f, err := p.Open(path, arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.require(t, f); err != nil {
			t.Error(err)
		}
		f.Close()
	}
}

func TestOpenErrors(t *testing.T) {
	p := newPool(t, 1)
	folder := t.TempDir()
	if _, err := p.Open(filepath.Join(folder, "none.arrow"), arrowipc.Limits{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := p.OpenAny(folder, arrowipc.Limits{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a folder: %v", err)
	}
}
