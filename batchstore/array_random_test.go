package batchstore

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

// generator makes batches by the rules of the format and takes its liberties: offsets that do not begin at zero, longer
// buffers and children than needed, lists and views in any order, garbage in null slots, buffers at odd addresses.
type generator struct {
	r       *rand.Rand
	plain   bool // take no liberties
	noNulls bool // in the next column
	b       *plainBatch
}

// randomPlain makes a batch that checkPlain has to accept.
func randomPlain(r *rand.Rand, l *arrowipc.Layout, rows int64) *plainBatch {
	g := &generator{r: r, plain: r.IntN(4) == 0, b: &plainBatch{rows: rows}}
	for _, c := range l.Columns {
		g.column(c, rows)
	}
	return g.b
}

func (g *generator) upTo(n int64) int64 { return g.r.Int64N(n + 1) }

// slack is a little more than needed, or nothing.
func (g *generator) slack() int64 {
	if g.plain {
		return 0
	}
	return g.upTo(3)
}

// buffer appends a buffer that begins with these bytes.
func (g *generator) buffer(content []byte) {
	shift := g.slack()
	b := make([]byte, shift, shift+int64(len(content))+3)
	b = append(b, content...)
	b = append(b, make([]byte, g.slack())...)
	g.b.bufs = append(g.b.bufs, b[shift:])
}

func (g *generator) bytes(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.r.Uint32())
	}
	return b
}

// text is bytes that are UTF-8 wherever they are cut.
func (g *generator) text(n int64) []byte {
	b := g.bytes(n)
	for i := range b {
		b[i] &= 0x7f
	}
	return b
}

// validity appends node and bitmap, and gives which slots are valid.
func (g *generator) validity(n int64) []byte {
	bits := make([]byte, bitBytes(n))
	density := []int{0, 1, 5, 9, 10, 10}[g.r.IntN(6)]
	if g.noNulls {
		density, g.noNulls = 10, false
	}
	node := arrowipc.FieldNode{Length: n}
	for i := range n {
		if g.r.IntN(10) < density {
			bits[i/8] |= 1 << (i % 8)
		} else {
			node.Nulls++
		}
	}
	g.b.nodes = append(g.b.nodes, node)
	if node.Nulls == 0 && g.r.IntN(2) == 0 {
		g.b.bufs = append(g.b.bufs, nil)
	} else {
		if n%8 != 0 && !g.plain {
			bits[n/8] |= 0xff << (n % 8) // ones after the last bit
		}
		g.buffer(bits)
	}
	return bits
}

// offsets appends an offsets buffer and gives the last one.
func (g *generator) offsets(n, width, most int64) int64 {
	if n == 0 && g.r.IntN(2) == 0 {
		g.b.bufs = append(g.b.bufs, nil)
		return 0
	}
	at := g.slack()
	b := make([]byte, (n+1)*width)
	putInt(b, width, 0, at)
	for i := range n {
		if g.r.IntN(3) > 0 {
			at += g.upTo(most)
		}
		putInt(b, width, i+1, at)
	}
	g.buffer(b)
	return at
}

func (g *generator) column(c *arrowipc.Column, n int64) {
	entries := g.noNulls
	var bits []byte
	if c.HasValidity() {
		bits = g.validity(n)
	} else {
		node := arrowipc.FieldNode{Length: n}
		if c.Kind == arrowipc.KindNull || !g.plain {
			node.Nulls = n
		}
		g.b.nodes = append(g.b.nodes, node)
	}
	width := offsetWidth(c.Kind)
	switch c.Kind {
	case arrowipc.KindBool:
		g.buffer(g.bytes(bitBytes(n)))
	case arrowipc.KindFixed:
		g.buffer(g.bytes(n * int64(c.Width)))
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		last := g.offsets(n, width, 9)
		g.buffer(g.text(last + g.slack()))
	case arrowipc.KindView:
		g.views(n, bits)
	case arrowipc.KindList, arrowipc.KindLargeList:
		last := g.offsets(n, width, 4)
		g.noNulls = c.Field.Type.ID == arrowipc.TypeMap // entries are not null, nor are their keys
		g.column(c.Children[0], last+g.slack())
	case arrowipc.KindListView, arrowipc.KindLargeListView:
		child := g.upTo(n * []int64{0, 1, 4}[g.r.IntN(3)])
		offsets, sizes := make([]byte, n*width), make([]byte, n*width)
		for i := range n {
			at := g.upTo(child)
			putInt(offsets, width, i, at)
			if g.r.IntN(3) > 0 {
				putInt(sizes, width, i, g.upTo(min(4, child-at)))
			}
		}
		g.buffer(offsets)
		g.buffer(sizes)
		g.column(c.Children[0], child)
	case arrowipc.KindFixedSizeList:
		g.column(c.Children[0], n*int64(c.ListSize)+g.slack())
	case arrowipc.KindStruct:
		for i, child := range c.Children {
			g.noNulls = entries && i == 0
			g.column(child, n+g.slack())
		}
	case arrowipc.KindSparseUnion, arrowipc.KindDenseUnion:
		g.union(c, n)
	case arrowipc.KindRunEnd:
		g.runEnds(c, n)
	}
}

func (g *generator) views(n int64, bits []byte) {
	var data [][]byte
	for range g.r.IntN(4) {
		data = append(data, g.text(g.upTo(300)))
	}
	reach := []int64{20, 300}[g.r.IntN(2)] // of the data buffers' beginnings only, or of all
	views := make([]byte, n*viewBytes)
	for i := range n {
		v := views[i*viewBytes : (i+1)*viewBytes]
		if !bitSet(bits, i) && !g.plain {
			copy(v, g.bytes(viewBytes))
			continue
		}
		if len(data) > 0 && g.r.IntN(2) == 0 {
			k := g.r.IntN(len(data))
			if room := int64(len(data[k])) - inlineBytes - 1; room >= 0 {
				at := g.upTo(min(room, reach))
				size := inlineBytes + 1 + g.upTo(min(room-at, 30))
				binary.LittleEndian.PutUint32(v, uint32(size))
				copy(v[4:8], data[k][at:])
				moveView(v, int64(k), at)
				continue
			}
		}
		size := g.upTo(inlineBytes)
		binary.LittleEndian.PutUint32(v, uint32(size))
		copy(v[4:], g.text(size))
	}
	g.buffer(views)
	for _, d := range data {
		g.buffer(d)
	}
	g.b.variadic = append(g.b.variadic, int64(len(data)))
}

func (g *generator) union(c *arrowipc.Column, n int64) {
	codes := make([]byte, n)
	next := make([]int64, len(c.Children)) // value of each child
	offsets := make([]byte, n*4)
	stride := []int64{0, 1, 5}[g.r.IntN(3)]
	for i := range n {
		k := g.r.IntN(len(next))
		codes[i] = byte(c.Field.Type.TypeCodes[k])
		next[k] += g.upTo(stride)
		putInt(offsets, 4, i, next[k])
		if stride == 1 && g.plain {
			next[k]++
		}
	}
	g.buffer(codes)
	dense := c.Kind == arrowipc.KindDenseUnion
	if dense {
		g.buffer(offsets)
	}
	for i, child := range c.Children {
		length := n
		if dense {
			length = next[i] + 1
		}
		g.column(child, length+g.slack())
	}
}

func (g *generator) runEnds(c *arrowipc.Column, n int64) {
	width := int64(c.Children[0].Width)
	var ends []byte
	runs := int64(0)
	for at := int64(0); at < n; runs++ {
		at += 1 + g.upTo(4)
		if g.plain {
			at = min(at, n)
		}
		ends = append(ends, make([]byte, width)...)
		putInt(ends, width, runs, at)
	}
	g.b.nodes = append(g.b.nodes, arrowipc.FieldNode{Length: runs})
	g.b.bufs = append(g.b.bufs, nil)
	g.buffer(ends)
	g.column(c.Children[1], runs+g.slack())
}

// render writes the value of slot i of a column as a reader understands it: slot by slot, as slowly and simply as the
// format describes it. Two batches are the same if they render the same.
func render(w *strings.Builder, s *source, c *arrowipc.Column, i int64) { renderWith(w, s, c, i, nil) }

// renderWith is render with a way to write what a slot of a dictionary-encoded column stands for; nil leaves its index.
func renderWith(w *strings.Builder, s *source, c *arrowipc.Column, i int64, encoded func(s *source, c *arrowipc.Column, i int64)) {
	if c.Field.Dictionary != nil && encoded != nil {
		encoded(s, c, i)
		return
	}
	if c.HasValidity() && len(s.buf(c, 0)) > 0 && s.buf(c, 0)[i/8]>>(i%8)&1 == 0 {
		w.WriteByte('-')
		return
	}
	width := offsetWidth(c.Kind)
	children := func(lo, hi int64) {
		w.WriteByte('[')
		for ; lo < hi; lo++ {
			renderWith(w, s, c.Children[0], lo, encoded)
			w.WriteByte(' ')
		}
		w.WriteByte(']')
	}
	quote := func(b []byte) { w.WriteString(strconv.Quote(string(b))) } // package fmt is slow under the race detector
	switch c.Kind {
	case arrowipc.KindNull:
		w.WriteByte('-')
	case arrowipc.KindBool:
		w.WriteByte('0' + s.buf(c, 1)[i/8]>>(i%8)&1)
	case arrowipc.KindFixed:
		w.WriteString(hex.EncodeToString(s.buf(c, 1)[i*int64(c.Width) : (i+1)*int64(c.Width)]))
	case arrowipc.KindBinary, arrowipc.KindLargeBinary:
		quote(s.buf(c, 2)[intAt(s.buf(c, 1), width, i):intAt(s.buf(c, 1), width, i+1)])
	case arrowipc.KindView:
		v := s.buf(c, 1)[i*viewBytes : (i+1)*viewBytes]
		size, buf, offset := parseView(v)
		if size <= inlineBytes {
			quote(v[4 : 4+size])
		} else {
			quote(s.viewData(c)[buf][offset : offset+size])
		}
	case arrowipc.KindList, arrowipc.KindLargeList:
		children(intAt(s.buf(c, 1), width, i), intAt(s.buf(c, 1), width, i+1))
	case arrowipc.KindListView, arrowipc.KindLargeListView:
		at := intAt(s.buf(c, 1), width, i)
		children(at, at+intAt(s.buf(c, 2), width, i))
	case arrowipc.KindFixedSizeList:
		children(i*int64(c.ListSize), (i+1)*int64(c.ListSize))
	case arrowipc.KindStruct:
		for _, child := range c.Children {
			w.WriteByte('.')
			renderWith(w, s, child, i, encoded)
		}
	case arrowipc.KindSparseUnion, arrowipc.KindDenseUnion:
		code := s.buf(c, 0)[i]
		at := i
		if c.Kind == arrowipc.KindDenseUnion {
			at = intAt(s.buf(c, 1), 4, i)
		}
		for k, x := range c.Field.Type.TypeCodes {
			if byte(x) == code {
				w.WriteString(strconv.Itoa(int(code)) + ":")
				renderWith(w, s, c.Children[k], at, encoded)
			}
		}
	case arrowipc.KindRunEnd:
		k := int64(0)
		for intAt(s.buf(c.Children[0], 1), int64(c.Children[0].Width), k) <= i {
			k++
		}
		renderWith(w, s, c.Children[1], k, encoded)
	}
}

// renderRows renders rows [from, from+n) of all columns.
func renderRows(cols []*arrowipc.Column, b *plainBatch, from, n int64) []string {
	s := newSource(b)
	var out []string
	for i := from; i < from+n; i++ {
		var w strings.Builder
		for _, c := range cols {
			render(&w, s, c, i)
			w.WriteByte('|')
		}
		out = append(out, w.String())
	}
	return out
}
