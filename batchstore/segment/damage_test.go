package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// fixed gives the same file each time.
func fixed(t testing.TB, p *Pool, seed uint64, batches, most int) (*content, []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	c := randomContent(t, r, batches, most)
	for i := range c.batches {
		c.batches[i].facts.Metadata = []arrowipc.KeyValue{{Key: "k", Value: fmt.Sprint(i)}} // so that headers are read
	}
	path := filepath.Join(t.TempDir(), "whole.arrow")
	c.write(t, p, path)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return c, raw
}

// bodies marks the bytes of a file that are a body's, padding included.
func bodies(t testing.TB, p *Pool, folder string, raw []byte) []bool {
	t.Helper()
	f, err := p.Open(put(t, folder, raw), arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	marks := make([]bool, len(raw))
	for _, list := range [][]*message{f.dictionaries, f.batches} {
		for _, m := range list {
			for i := range (m.body + 7) &^ 7 {
				marks[m.offset+int64(m.header)+i] = true
			}
		}
	}
	return marks
}

// readChanged opens a changed file and reads all of it. What can be read must be what was written.
func (c *content) readChanged(t testing.TB, p *Pool, path string, open func(string, arrowipc.Limits) (*File, error)) error {
	t.Helper()
	f, err := open(path, arrowipc.Limits{})
	if err == nil {
		err = c.require(t, f)
		f.Close()
	}
	if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnsupported) {
		t.Fatalf("neither damage nor unsupported: %v", err)
	}
	if err != nil && !strings.Contains(err.Error(), "changed.arrow") {
		t.Fatalf("the error does not name the file: %v", err)
	}
	return err
}

// A flipped byte of the metadata gives an error, or changes nothing, also where a file may be another program's.
func TestFlippedMetadata(t *testing.T) {
	p := newPool(t, 1)
	c, raw := fixed(t, p, 1, 1, 20)
	folder := t.TempDir()
	body := bodies(t, p, folder, raw)
	path := put(t, folder, raw)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	silent := 0
	for at := range raw {
		if underRace && at%4 != 0 { // one goroutine
			continue
		}
		if body[at] {
			continue
		}
		for _, bits := range []byte{0x01, 0xA0} {
			if _, err := file.WriteAt([]byte{raw[at] ^ bits}, int64(at)); err != nil {
				t.Fatal(err)
			}
			err := c.readChanged(t, p, path, p.Open)
			if errors.Is(err, ErrUnsupported) {
				t.Fatalf("byte %d: a segment is %v", at, err)
			}
			any := c.readChanged(t, p, path, p.OpenAny)
			if (err == nil) != (any == nil) {
				t.Fatalf("byte %d: %v, and %v where it may be another program's", at, err, any)
			}
			if err == nil {
				silent++
			}
		}
		if _, err := file.WriteAt(raw[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	// Of the dictionaries' headers nothing is read. All else is covered.
	if silent == 0 || silent > 2*2*512 {
		t.Errorf("%d changes had no effect", silent)
	}
}

// A flipped byte of a body is found when its column is read, the error names file and batch, and all else can be read.
func TestFlippedBody(t *testing.T) {
	p := newPool(t, 1)
	const seed = 4711
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	c, raw := fixed(t, p, seed, 5, 500)
	folder := t.TempDir()
	l := c.schema.Layout
	for range 1000 {
		at := r.IntN(len(raw))
		changed := bytes.Clone(raw)
		changed[at] ^= byte(1 + r.IntN(255))
		f, err := p.Open(put(t, folder, changed), arrowipc.Limits{})
		if err != nil {
			continue // metadata: the other test's
		}
		found := 0
		want := 0
		for i, d := range c.dictionaries {
			m := f.dictionaries[i]
			hit := int64(at) >= m.offset+int64(m.header) && int64(at) < m.offset+int64(m.header)+m.body
			err := f.ReadDictionary(i, make([]byte, len(d.body)))
			if (err != nil) != hit || hit && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("changed.arrow: dictionary %d", i))) {
				t.Fatalf("byte %d: dictionary %d: %v", at, i, err)
			}
		}
		for i, b := range c.batches {
			m := f.batches[i]
			start := m.offset + int64(m.header)
			if int64(at) >= start && int64(at) < start+m.body {
				want++
			}
			for column := range l.Columns {
				from, length := Range(l, &b.facts.Header, m.body, column, column+1)
				hit := int64(at) >= start+from && int64(at) < start+from+length
				got := make([]byte, length)
				err := f.ReadBatch(i, &b.facts.Header, column, column+1, got)
				switch {
				case hit:
					found++
					if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("changed.arrow: batch %d", i)) ||
						!strings.Contains(err.Error(), fmt.Sprintf("%q", l.Columns[column].Field.Name)) {
						t.Fatalf("byte %d: column %d of batch %d: %v", at, column, i, err)
					}
				case err != nil || !bytes.Equal(got, b.body[from:from+length]):
					t.Fatalf("byte %d: column %d of batch %d, which is whole: %v", at, column, i, err)
				}
			}
		}
		if found != want {
			t.Fatalf("byte %d: found in %d columns, and it is in %d", at, found, want)
		}
		f.Close()
	}
}

func TestTruncated(t *testing.T) {
	p := newPool(t, 1)
	c, raw := fixed(t, p, 2, 1, 20)
	folder := t.TempDir()
	path := put(t, folder, raw)
	for n := len(raw) - 1; n >= 0; n-- {
		if err := os.Truncate(path, int64(n)); err != nil {
			t.Fatal(err)
		}
		if err := c.readChanged(t, p, path, p.Open); err == nil {
			t.Fatalf("a file of %d of %d bytes was read", n, len(raw))
		}
		if err := c.readChanged(t, p, path, p.OpenAny); err == nil {
			t.Fatalf("a file of %d of %d bytes was read as another program's", n, len(raw))
		}
	}
	if err := c.readChanged(t, p, put(t, folder, append(bytes.Clone(raw), 0)), p.Open); err == nil {
		t.Fatal("a file with a byte behind it was read")
	}
}

// A file that changes while it is open gives errors, and no bytes that are not its own.
func TestChangedWhileOpen(t *testing.T) {
	p := newPool(t, 1)
	c, raw := fixed(t, p, 3, 2, 300)
	other, otherRaw := fixed(t, p, 4, 2, 300)
	_ = other
	open := func(t *testing.T, folder string) (*File, string) {
		t.Helper()
		path := put(t, folder, raw)
		f, err := p.Open(path, arrowipc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f, path
	}
	// idle makes the pool close the file's descriptor.
	idle := func(t *testing.T) {
		t.Helper()
		f, _ := open(t, t.TempDir())
		if p.open.Len() != 1 || !p.open.Contains(f) {
			t.Fatal("the descriptor is still open")
		}
	}
	for name, change := range map[string]func(t *testing.T, path string){
		"cut short": func(t *testing.T, path string) {
			if err := os.Truncate(path, 100); err != nil {
				t.Fatal(err)
			}
		},
		"cut short and idle": func(t *testing.T, path string) {
			idle(t)
			if err := os.Truncate(path, 100); err != nil {
				t.Fatal(err)
			}
		},
		"removed and idle": func(t *testing.T, path string) {
			idle(t)
			os.Remove(path)
		},
		"replaced and idle": func(t *testing.T, path string) {
			idle(t)
			put(t, filepath.Dir(path), otherRaw)
		},
		"written over": func(t *testing.T, path string) {
			if err := os.WriteFile(path, otherRaw, 0o666); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, path := open(t, t.TempDir())
			change(t, path)
			for i, b := range c.batches {
				err := f.ReadBatch(i, &b.facts.Header, 0, len(c.schema.Fields), make([]byte, b.facts.Body))
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("changed.arrow: batch %d", i)) ||
					strings.Contains(err.Error(), filepath.Dir(path)) {
					t.Errorf("batch %d: %v", i, err)
				}
			}
			f.Trim()
			if _, err := f.Batch(0); !errors.Is(err, ErrDamaged) {
				t.Errorf("the facts: %v", err)
			}
		})
	}
}
