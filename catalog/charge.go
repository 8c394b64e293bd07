package catalog

import (
	"unsafe"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/statistics"
)

// Charge is memory that counts to somebody's budget until it is released.
type Charge interface{ Release() }

// Holder is something that lives as long as somebody holds it.
type Holder interface {
	Retain()
	Release()
}

// uncharged is a charge of nothing.
type uncharged struct{}

func (uncharged) Release() {}

// What the catalogue keeps on the heap, in bytes, beside what grows with schemas and rows: for a generation and its dataset,
// for a put of a transaction, for a transaction and for a lease.
const (
	generationBytes  = 1200
	partBytes        = 400
	transactionBytes = 800
	leaseBytes       = 400
)

// bytesOf is what a generation takes without its schema, its batches and their list, which count with the batches: totals by
// node and by column, and the paths of columns. Each name is kept a few times.
func bytesOf(name string, columns []arrowipc.RowColumn, nodes int, measured []statistics.Column, dictionaries int) int64 {
	n := generationBytes + 4*int64(len(name)) + int64(nodes)*int64(unsafe.Sizeof(NodeFacts{})) + 200*int64(dictionaries)
	for i := range measured {
		n += measured[i].Bytes()
	}
	for _, c := range columns {
		n += int64(unsafe.Sizeof(c)) + int64(len(c.Path))*int64(unsafe.Sizeof("")) + int64(len(c.Parents))*int64(unsafe.Sizeof(uintptr(0)))
	}
	return n
}

// charge counts memory that nothing waits for.
func (c *Catalog) charge(n int64) (Charge, error) {
	if c.charges == nil {
		return uncharged{}, nil
	}
	return c.charges(n)
}

// charge counts a put's memory.
func (p *Put) charge(n int64) (Charge, error) {
	if p.Charge != nil {
		return p.Charge(n)
	}
	return p.c.charge(n)
}

// held is a holder with a reference of its own; nil of nil.
func held(h Holder) Holder {
	if h != nil {
		h.Retain()
	}
	return h
}

// let gives a reference of held back.
func let(h Holder) {
	if h != nil {
		h.Release()
	}
}
