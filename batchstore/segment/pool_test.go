package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// openFiles writes files of the same content.
func openFiles(t *testing.T, p *Pool, c *content, n int) (files []*File) {
	t.Helper()
	folder := t.TempDir()
	for i := range n {
		f, err := c.finish(t, p, filepath.Join(folder, fmt.Sprintf("%d.arrow", i)), false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		files = append(files, f)
	}
	return files
}

// However many files are read, at most so many descriptors stay open.
func TestDescriptorsAreBounded(t *testing.T) {
	const most, files = 3, 20
	r := seeded(t)
	p := newPool(t, most)
	c := randomContent(t, r, 2, 200)
	list := openFiles(t, p, c, files)
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 200 {
				f := list[(i*7+g*5)%files]
				for k, b := range c.batches {
					if err := f.ReadBatch(k, &b.facts.Header, 0, len(c.schema.Fields), make([]byte, b.facts.Body)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wait.Wait()
	if n := p.open.Len(); n != most {
		t.Errorf("%d descriptors are open, want %d", n, most)
	}
	for _, f := range list {
		if d, ok := p.open.Peek(f); ok && (d.uses != 0 || d.dropped) {
			t.Errorf("an idle descriptor is %+v", d)
		}
	}
}

// A descriptor that a read uses outlives its eviction, its file's end and the pool's, and is closed when the read ends.
func TestReadsKeepTheirDescriptor(t *testing.T) {
	r := seeded(t)
	c := randomContent(t, r, 1, 200)
	for name, drop := range map[string]func(p *Pool, list []*File) error{
		"evicted": func(p *Pool, list []*File) error { return list[1].read(make([]byte, 8), 0) },
		"closed":  func(p *Pool, list []*File) error { return list[0].Close() },
		"removed": func(p *Pool, list []*File) error { return list[0].Remove() },
		"pool":    func(p *Pool, list []*File) error { return p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, 1)
			list := openFiles(t, p, c, 2)
			d, err := p.acquire(list[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := drop(p, list); err != nil {
				t.Fatal(err)
			}
			if !d.dropped || p.open.Contains(list[0]) {
				t.Fatal("the descriptor was not dropped")
			}
			if _, err := d.file.ReadAt(make([]byte, 8), 0); err != nil {
				t.Errorf("it cannot be read from: %v", err)
			}
			p.release(d)
			if _, err := d.file.ReadAt(make([]byte, 8), 0); !errors.Is(err, os.ErrClosed) {
				t.Errorf("it was not closed: %v", err)
			}
			err = list[0].read(make([]byte, 8), 0)
			if name == "evicted" && err != nil || name != "evicted" && !errors.Is(err, ErrClosed) {
				t.Errorf("a read after it: %v", err)
			}
		})
	}
}

// Files are read, closed and removed at once: a read is right, or says that the file is closed.
func TestCloseWhileReading(t *testing.T) {
	r := seeded(t)
	p := newPool(t, 2)
	c := randomContent(t, r, 2, 200)
	for range 20 {
		list := openFiles(t, p, c, 4)
		var wait sync.WaitGroup
		for i := range 8 {
			f := list[i%4]
			wait.Go(func() {
				for range 20 {
					if err := c.require(t, f); err != nil && !errors.Is(err, ErrClosed) {
						t.Error(err)
						return
					}
					f.Trim()
				}
			})
		}
		wait.Go(func() {
			list[0].Close()
			list[1].Remove()
		})
		wait.Wait()
		for _, f := range list {
			if err := f.Remove(); err != nil {
				t.Error(err)
			}
		}
	}
	if p.open.Len() != 0 {
		t.Errorf("%d descriptors are open", p.open.Len())
	}
}

func TestClosedPool(t *testing.T) {
	p := NewPool(1)
	c := randomContent(t, seeded(t), 1, 100)
	list := openFiles(t, p, c, 1)
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Open(list[0].Path(), arrowipc.Limits{}); !errors.Is(err, ErrClosed) {
		t.Errorf("opened: %v", err)
	}
	if _, err := list[0].Batch(0); !errors.Is(err, ErrClosed) {
		t.Errorf("read: %v", err)
	}
}
