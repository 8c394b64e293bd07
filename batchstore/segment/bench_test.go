package segment

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// benchContent is batches of 12 columns and about 4 MiB.
func benchContent(b *testing.B) *content {
	b.Helper()
	var fields []*arrowipc.Field
	for i := range 12 {
		fields = append(fields, &arrowipc.Field{Name: fmt.Sprint(i), Type: arrowipc.Type{ID: arrowipc.TypeInt, BitWidth: 64, Signed: true}})
	}
	schema, err := arrowipc.BuildSchema(fields, nil)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	c := &content{schema: schema}
	for len(c.batches) < 4 {
		if x := randomItem(r, newShape(schema.Layout), 512<<10); len(x.body) > 3<<20 {
			c.batches = append(c.batches, x)
		}
	}
	return c
}

func (c *content) bytes() (n int64) {
	for _, x := range c.batches {
		n += int64(len(x.body))
	}
	return n
}

func BenchmarkWrite(b *testing.B) {
	p := newPool(b, 1)
	c := benchContent(b)
	path := filepath.Join(b.TempDir(), "segment.arrow")
	b.SetBytes(c.bytes())
	for b.Loop() {
		f, err := c.finish(b, p, path, false)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkOpen(b *testing.B) {
	p := newPool(b, 1)
	c := benchContent(b)
	path := filepath.Join(b.TempDir(), "segment.arrow")
	c.write(b, p, path)
	b.ReportAllocs()
	for b.Loop() {
		f, err := p.Open(path, arrowipc.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		for i := range f.Batches() {
			if _, err := f.Batch(i); err != nil {
				b.Fatal(err)
			}
		}
		f.Close()
	}
}

// One of twelve columns, and all of them.
func BenchmarkRead(b *testing.B) {
	p := newPool(b, 1)
	c := benchContent(b)
	f, err := c.finish(b, p, filepath.Join(b.TempDir(), "segment.arrow"), false)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for _, columns := range []int{1, 12} {
		b.Run(fmt.Sprint(columns), func(b *testing.B) {
			h := &c.batches[0].facts.Header
			_, n := Range(c.schema.Layout, h, c.batches[0].facts.Body, 0, columns)
			dst := make([]byte, n)
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				if err := f.ReadBatch(0, h, 0, columns, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
