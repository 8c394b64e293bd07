package compress

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	// prefixLen is the length of the int64 before a frame or before raw bytes.
	prefixLen = 8
	// rawPrefix stands there when raw bytes follow.
	rawPrefix = -1
)

// Encoder encodes buffers one after another with one context of a [Pool]. It belongs to one goroutine at a time.
//
// It occupies one of the pool's Contexts until Release: hold it for the buffers of one batch, never over I/O and never
// while waiting for another Encoder of the same pool.
type Encoder struct {
	pool     *Pool
	codec    Codec
	speed    speed
	zstd     *zstd.Encoder   // for Zstd
	lz4      *lz4.Compressor // for LZ4
	done     tally
	released bool
}

// Encoder takes a context for codec c, and waits for one if all are in use. The level is a Zstandard level of 1 to 22,
// or 0 for the pool's; the other codecs have none and ignore it. The caller must call [Encoder.Release] once.
//
// Errors: [ErrUnknownCodec], [ErrLevel].
func (p *Pool) Encoder(c Codec, level int) (*Encoder, error) {
	e, err := p.encoder(c, level)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// encoder is Encoder by value, so that a single Append allocates nothing.
func (p *Pool) encoder(c Codec, level int) (Encoder, error) {
	e := Encoder{pool: p, codec: c}
	var err error
	switch c {
	case None:
	case LZ4:
		e.lz4, err = p.lz4Encoders.get()
	case Zstd:
		if e.speed, err = p.speedOf(level); err == nil {
			e.zstd, err = p.zstdEncoders[e.speed].get()
		}
	default:
		err = c.unknown()
	}
	return e, err
}

// speedOf is the speed that serves a level, or for 0 the pool's.
func (p *Pool) speedOf(level int) (speed, error) {
	if level == 0 {
		level = p.level
	}
	return speedOf(level)
}

// Slow tells whether to encode under a codec and level, 0 being the pool's, takes ten times as long as under others: levels of
// Zstandard from 10 on.
func (p *Pool) Slow(c Codec, level int) bool {
	s, err := p.speedOf(level)
	return c == Zstd && err == nil && s >= slow
}

// Release gives the context back. Calls after the first do nothing.
func (e *Encoder) Release() {
	if e.released {
		return
	}
	e.released = true
	if e.done.buffers > 0 {
		e.pool.used.of(e.codec, true).add(e.done)
	}
	switch e.codec {
	case LZ4:
		e.pool.lz4Encoders.put(e.lz4)
	case Zstd:
		e.pool.zstdEncoders[e.speed].put(e.zstd)
	}
	e.zstd, e.lz4 = nil, nil
}

// Append appends the stored form of src to dst and returns the extended slice, as the builtin append does: in place if
// dst has [Bound] of len(src) bytes to spare, else in new memory of at least that. The result of a compressible buffer
// thus has much unused capacity; encode into memory that is used again, and copy what is to be kept. src is only read;
// it must not overlap dst's spare capacity.
//
// Under [None] it appends src as it is.
//
// The only errors are [ErrReleased] and, should the codec's library fail, what it reports. dst's contents up to its
// length are intact then.
func (e *Encoder) Append(dst, src []byte) ([]byte, error) {
	if e.released {
		return dst, ErrReleased
	}
	if e.codec == None {
		return append(dst, src...), nil
	}
	if len(src) == 0 {
		return dst, nil
	}
	before, began := len(dst), time.Now()
	dst, err := e.frame(dst, src)
	e.done.time += time.Since(began)
	if err == nil {
		e.done.buffers++
		e.done.plain += int64(len(src))
		e.done.stored += int64(len(dst) - before)
	}
	return dst, err
}

// frame appends a frame, or the raw bytes where a frame saves too little.
func (e *Encoder) frame(dst, src []byte) ([]byte, error) {
	start := len(dst)
	out := slices.Grow(dst, Bound(len(src)))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(src)))
	limit := len(src) / 20 * 19
	limit += len(src) % 20 * 19 / 20 // 95 %, without overflow
	if e.codec == Zstd {
		out = e.zstd.EncodeAll(src, out)
	} else {
		var err error
		if out, err = appendLZ4Frame(out, src, e.lz4, start+limit); err != nil {
			return dst, fmt.Errorf("lz4: encode %d bytes: %w", len(src), err)
		}
	}
	if len(out)-start <= limit {
		return out, nil
	}
	raw := int64(rawPrefix)
	out = binary.LittleEndian.AppendUint64(out[:start], uint64(raw))
	return append(out, src...), nil
}

// Append appends the stored form of src to dst, as [Encoder.Append] does, with a context that it takes for this one
// buffer. The level is as for [Pool.Encoder], and so are the errors.
func (p *Pool) Append(dst, src []byte, c Codec, level int) ([]byte, error) {
	e, err := p.encoder(c, level)
	if err != nil {
		return dst, err
	}
	defer e.Release()
	return e.Append(dst, src)
}

// Bound returns how many bytes Append may write, at most, while it encodes n bytes. It covers what is tried and given
// up again, so it is a little more than the longest result, which is n + 8.
func Bound(n int) int {
	// Either format's header, end mark and empty tail take under 64 bytes; its blocks are never smaller than 16 KiB
	// (but for the last), and cost 4 bytes each besides their contents.
	return prefixLen + n + n/(16<<10)*4 + 64
}
