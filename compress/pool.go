package compress

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Pool encodes and decodes buffers with contexts that it keeps and bounds. Make one for a process and share it. It is
// safe for concurrent use.
type Pool struct {
	level        int
	used         work
	zstdEncoders [speeds]*contexts[*zstd.Encoder]
	lz4Encoders  *contexts[*lz4.Compressor]
	zstdDecoders *contexts[*zstd.Decoder]
}

// New returns a pool. It makes no context yet. The error is that of [Options.Validate].
func New(o Options) (*Pool, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("compress options: %w", err)
	}
	o = o.withDefaults()
	p := &Pool{level: o.ZstdLevel}
	for s := range speed(speeds) {
		p.zstdEncoders[s] = newContexts(o.Contexts, s.footprint() <= o.RetainBytes,
			s.newEncoder, func(e *zstd.Encoder) { e.Close() })
	}
	p.lz4Encoders = newContexts(o.Contexts, lz4Footprint <= o.RetainBytes,
		func() (*lz4.Compressor, error) { return new(lz4.Compressor), nil }, func(*lz4.Compressor) {})
	p.zstdDecoders = newContexts(o.Contexts, decoderFootprint <= o.RetainBytes,
		newZstdDecoder, func(d *zstd.Decoder) { d.Close() })
	return p, nil
}

// Close closes the idle contexts. The pool goes on working, but keeps nothing from then on: contexts that are out are
// closed when they come back. Close may be called more than once.
func (p *Pool) Close() {
	for _, c := range p.zstdEncoders {
		c.close()
	}
	p.lz4Encoders.close()
	p.zstdDecoders.close()
}
