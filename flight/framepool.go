package flight

import "sync"

// framePool hands out the transport's frame buffers without clearing them: they are overwritten anyway, and clearing
// took a seventh of a put's CPU. Buffers that are larger than a connection's frames are rare and not kept.
type framePool struct{ small, frame, big sync.Pool }

const (
	smallFrame = 4 << 10
	frame      = 16 << 10
	bigFrame   = 1 << 20
)

func newFramePool() *framePool {
	sized := func(n int) func() any {
		return func() any {
			b := make([]byte, n)
			return &b
		}
	}
	p := &framePool{}
	p.small.New, p.frame.New, p.big.New = sized(smallFrame), sized(frame), sized(bigFrame)
	return p
}

// Get gives a buffer of length n, with whatever was in it.
func (p *framePool) Get(n int) *[]byte {
	var b *[]byte
	switch {
	case n <= smallFrame:
		b = p.small.Get().(*[]byte)
	case n <= frame:
		b = p.frame.Get().(*[]byte)
	case n <= bigFrame:
		b = p.big.Get().(*[]byte)
	default:
		large := make([]byte, n)
		return &large
	}
	*b = (*b)[:n]
	return b
}

// Put takes a buffer back.
func (p *framePool) Put(b *[]byte) {
	switch cap(*b) {
	case smallFrame:
		p.small.Put(b)
	case frame:
		p.frame.Put(b)
	case bigFrame:
		p.big.Put(b)
	}
}
