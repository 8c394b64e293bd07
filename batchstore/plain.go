package batchstore

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// sliceBuffers cuts a body into its buffers. The ranges are known to lie in the body.
func sliceBuffers(body []byte, buffers []arrowipc.Buffer) [][]byte {
	out := make([][]byte, len(buffers))
	for i, b := range buffers {
		out[i] = body[b.Offset : b.Offset+b.Length : b.Offset+b.Length]
	}
	return out
}

// bytes is the sum of the batch's buffer lengths.
func (b *plainBatch) bytes() (n int64) {
	for _, x := range b.bufs {
		n += int64(len(x))
	}
	return n
}

// decodePlain decodes stored buffers into one block, each at a multiple of 8 with zeros behind it, and sets b's buffers to
// them. What they decode to is known to be within the limits. The caller frees the block.
func (s *Store) decodePlain(m lender, b *plainBatch, buffers [][]byte, c compress.Codec) (arena.Block, error) {
	lengths := make([]int64, len(buffers))
	total := int64(0)
	for i, x := range buffers {
		n, err := compress.DecodedLen(x, c)
		if err != nil {
			return arena.Block{}, fmt.Errorf("buffer %d: %w", i, err)
		}
		if n > s.opts.MaxDecoded-total {
			return arena.Block{}, fmt.Errorf("%w: it would decode to more than %d bytes", ErrTooLarge, s.opts.MaxDecoded)
		}
		lengths[i] = n
		total += pad8(n)
	}
	block, err := m.alloc(total)
	if err != nil {
		return arena.Block{}, err
	}
	b.bufs = make([][]byte, len(buffers))
	pos := int64(0)
	for i, x := range buffers {
		end := pos + lengths[i]
		dst := block.B[pos:end:end]
		if err := s.codecs.Decode(dst, x, c); err != nil {
			Free(&block)
			return arena.Block{}, fmt.Errorf("buffer %d: %w", i, err)
		}
		b.bufs[i] = dst
		pos = pad8(end)
		clear(block.B[end:pos])
	}
	return block, nil
}

// maxWork caps what a worker's output buffer may keep between batches.
const maxWork = 32 << 20

// getWork gives an output buffer for encoding; putWork takes it back.
func (s *Store) getWork() *[]byte {
	if w, ok := s.work.Get().(*[]byte); ok {
		return w
	}
	return new([]byte)
}

func (s *Store) putWork(w *[]byte) {
	if cap(*w) <= maxWork {
		s.work.Put(w)
	}
}
