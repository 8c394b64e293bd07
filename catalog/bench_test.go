package catalog

import (
	"context"
	"fmt"
	"testing"
)

func BenchmarkCurrent(b *testing.B) {
	c := newCatalog()
	for i := range 10_000 {
		put(b, c, fmt.Sprintf("dataset/%d", i), Replace, flat(b), i)
	}
	b.Cleanup(c.Clear)
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g, err := c.Current("dataset/5000")
			if err != nil {
				b.Fatal(err)
			}
			g.Release()
		}
	})
	b.Run("by many", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				g, err := c.Current("dataset/5000")
				if err != nil {
					b.Error(err)
					return
				}
				g.Release()
			}
		})
	})
	b.Run("list 10000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, g := range c.List("dataset/") {
				g.Release()
			}
		}
	})
}

// BenchmarkCommit replaces a dataset by so many batches, and appends one to as many.
func BenchmarkCommit(b *testing.B) {
	schema := flat(b)
	for _, n := range []int{1, 100, 10_000} {
		ids := make([]int, n)
		for i := range ids {
			ids[i] = i
		}
		_, many := batches(b, schema, ids...)
		_, one := batches(b, schema, n)
		commit := func(c *Catalog, mode Mode, list []Batch) {
			p, err := c.Begin("d", mode, schema)
			if err != nil {
				b.Fatal(err)
			}
			for _, x := range list {
				x.Retain()
			}
			g, err := p.Commit(context.Background(), list, "zstd", nil)
			if err != nil {
				b.Fatal(err)
			}
			g.Release()
		}
		b.Run(fmt.Sprintf("replace by %d", n), func(b *testing.B) {
			c := newCatalog()
			b.Cleanup(c.Clear)
			b.ReportAllocs()
			for b.Loop() {
				commit(c, Replace, many)
			}
		})
		b.Run(fmt.Sprintf("append to %d and more", n), func(b *testing.B) {
			c := newCatalog()
			b.Cleanup(c.Clear)
			commit(c, Replace, many)
			b.ReportAllocs()
			for b.Loop() {
				commit(c, Append, one)
			}
		})
	}
}
