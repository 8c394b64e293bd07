package gather

import (
	"net"
	"sync"
)

// Sizes of the memory that copies go to, in bytes: of connections whose payloads are sent from where they lie, and of others.
const (
	smallChunk = 16 << 10
	largeChunk = 256 << 10
)

var (
	smallChunks = sync.Pool{New: func() any { b := make([]byte, smallChunk); return &b }}
	largeChunks = sync.Pool{New: func() any { b := make([]byte, largeChunk); return &b }}
)

func chunksOf(size int) *sync.Pool {
	if size == smallChunk {
		return &smallChunks
	}
	return &largeChunks
}

// load is what one writev sends.
type load struct {
	pieces net.Buffers
	bytes  int
	after  []Releaser // when it has been sent

	chunks []*[]byte // that copies lie in
	used   int       // bytes of the last chunk
	grows  bool      // the last piece ends where the next copy begins
	refers bool      // the last piece is one that stays

	frame frame // of data, the last that was written; none if anything came after it
}

// refer adds bytes that stay. Those that lie behind the last ones make one piece with them.
func (l *load) refer(p []byte) {
	l.bytes += len(p)
	l.grows = false
	if l.refers {
		last := &l.pieces[len(l.pieces)-1]
		if n := len(*last); cap(*last) >= n+len(p) && &(*last)[:n+1][n] == &p[0] {
			*last = (*last)[:n+len(p)]
			return
		}
	}
	l.pieces = append(l.pieces, p)
	l.refers = true
}

// copy adds bytes that may change.
func (l *load) copy(p []byte, size int, took func(int)) {
	l.bytes += len(p)
	for len(p) > 0 {
		if len(l.chunks) == 0 || l.used == size {
			l.chunk(size, took)
		}
		chunk := *l.chunks[len(l.chunks)-1]
		n := copy(chunk[l.used:], p)
		p = p[n:]
		if l.grows {
			last := &l.pieces[len(l.pieces)-1]
			*last = chunk[l.used-len(*last) : l.used+n]
		} else {
			l.pieces = append(l.pieces, chunk[l.used:l.used+n])
			l.grows, l.refers = true, false
		}
		l.used += n
	}
}

// chunk begins the next piece of memory for copies.
func (l *load) chunk(size int, took func(int)) {
	l.chunks = append(l.chunks, chunksOf(size).Get().(*[]byte))
	took(size)
	l.used, l.grows = 0, false
}

// reset empties it.
func (l *load) reset(took func(int)) {
	for i, b := range l.chunks {
		chunksOf(len(*b)).Put(b)
		took(-len(*b))
		l.chunks[i] = nil
	}
	clear(l.pieces)
	clear(l.after)
	*l = load{pieces: l.pieces[:0], after: l.after[:0], chunks: l.chunks[:0]}
}

// small gives an empty load that keeps the memory of this one, which is empty, if it is little.
func (l *load) small() load {
	const most = 16
	if cap(l.pieces) > most || cap(l.after) > most || cap(l.chunks) > most {
		return load{}
	}
	return *l
}
