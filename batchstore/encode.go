package batchstore

import (
	"fmt"
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/statistics"
)

// encode turns a group's sources into stored batches: it decodes what came compressed, checks it, keeps it as it lies
// where that will do, and else cuts or joins it. It runs on a worker. The sources keep what was not taken over.
func (in *Ingest) encode(g *group) (out []*Batch, err error) {
	s, sources, m := in.store, g.sources, in.memory(true)
	runs := make([]run, len(sources))
	var decoded []arena.Block
	defer func() {
		for i := range decoded {
			Free(&decoded[i])
		}
		if err != nil {
			for _, b := range out {
				b.Release()
			}
			out = nil
		}
	}()
	for i, src := range sources {
		b := &plainBatch{rows: src.header.Rows, nodes: src.header.Nodes, variadic: src.header.Variadic}
		if src.header.Compression == arrowipc.Uncompressed {
			b.bufs = sliceBuffers(src.body.B, src.header.Buffers)
		} else {
			block, err := s.decodePlain(m, b, sliceBuffers(src.body.B, src.header.Buffers), compress.Codec(src.header.Compression))
			if err != nil {
				return nil, batchError(src.index, invalid(err))
			}
			decoded = append(decoded, block)
			in.decoded.Add(src.decoded)
		}
		if err := checkPlain(in.layout, b); err != nil {
			return nil, batchError(src.index, err)
		}
		if err := in.dicts.check(b, src.limits, g.chains); err != nil {
			return nil, batchError(src.index, err)
		}
		runs[i] = run{b: b, from: 0, n: b.rows}
	}
	e := &builder{
		store: s, memory: m, columns: in.layout.Columns, values: g.decode, dictionaries: g.values, measurer: in.measurer, stored: in.stored,
		message: in.most, codec: in.opts.Codec, level: in.opts.Level, encoded: &in.encoded, at: g.at, apart: in.opts.KeepBatches,
		made: func(b *Batch) { in.staging.made(g, b) },
	}
	if in.defers() {
		e.codec, e.wanted = compress.None, 1+int(in.opts.Codec)
	}
	if len(in.keys) > 0 {
		e.order = &orderCheck{in.keys}
	}
	if len(sources) == 1 {
		e.metadata = sources[0].metadata
		err = in.keep(e, sources[0], runs[0].b)
	}
	if err == nil && len(e.out) == 0 {
		err = e.add(runs)
	}
	if err == nil {
		err = in.checkOrder(g, e)
	}
	if err != nil {
		err = batchError(sources[0].index, err)
	}
	return e.out, err
}

// keep stores a received batch by taking its body over, or leaves it where it has to be rewritten.
func (in *Ingest) keep(e *builder, src *arrival, b *plainBatch) error {
	o := in.store.opts
	if in.stored != in.layout {
		return nil
	}
	arrived := compress.Codec(src.header.Compression)
	if arrived != e.codec && arrived != in.opts.Codec && (arrived == compress.None || !in.opts.KeepArriving) {
		return nil
	}
	if int64(len(src.body.B)) > in.most || b.rows > o.MaxBatchRows || src.decoded > o.MaxBatchBytes {
		return nil
	}
	if !canonical(in.layout, b, src.header.Buffers, int64(len(src.body.B))) {
		return nil
	}
	measured, err := in.measurer.measure(b, e.dictionaries)
	if err != nil {
		return err
	}
	body := src.body
	src.body = arena.Block{}
	return e.append(b, *src.header, arrived, measured, body)
}

// builder makes stored batches out of runs of plain rows.
type builder struct {
	store   *Store
	memory  lender
	columns []*arrowipc.Column          // of the runs
	values  map[int64]*dictionaryValues // dictionaries to be decoded

	dictionaries map[int64]*dictionaryValues // all dictionaries
	measurer     *measurer

	stored   *arrowipc.Layout // of the batches made
	message  int64            // the most bytes of a body
	codec    compress.Codec
	level    int
	wanted   int                 // of the plain batches made: see Batch
	written  int64               // plain bytes of batches made with dictionaries decoded, tries counted in
	made     func(*Batch)        // told of each batch; nil for nobody
	encoded  *atomic.Int64       // counts the plain bytes that were encoded
	metadata []arrowipc.KeyValue // for the first batch made
	apart    bool                // the batches made are never joined
	out      []*Batch

	order    *orderCheck // nil without an order
	at       int64       // the number of the next row among the put's
	edges    []edges     // of the batches made
	orderErr error       // the first row that breaks the order
}

// add stores runs as one batch, or, where that would pass a limit, as the fewest equal parts that fit.
func (e *builder) add(runs []run) error {
	rows, bytes := totalRows(runs), int64(0)
	for _, r := range runs {
		bytes += plainSize(e.columns, r.b)
	}
	parts := min(ceilDiv(rows, e.store.opts.MaxBatchRows), ceilDiv(bytes, minPart))
	return e.split(runs, rows, max(parts, 1))
}

// minPart is the least plain bytes of a part that is cut for its rows' sake.
const minPart = 4 << 10

// most is the most plain bytes of a batch: of one that stays plain, they are the message's.
func (e *builder) most() int64 {
	if e.codec == compress.None {
		return e.message
	}
	return e.store.opts.MaxBatchBytes
}

// split stores runs in parts of equal rows.
func (e *builder) split(runs []run, rows, parts int64) error {
	for _, part := range splitRuns(runs, rows, parts) {
		if err := e.one(part); err != nil {
			return err
		}
	}
	return nil
}

// one stores runs as one batch, and splits them again only where their exact size passes a limit.
func (e *builder) one(runs []run) error {
	s := e.store
	rows := totalRows(runs)
	plan, parts, err := measure(e.columns, e.values, runs, e.most())
	if err != nil {
		return err
	}
	if parts > 1 {
		return e.split(runs, rows, parts)
	}
	if plan.bodyLen > s.opts.MaxDecoded {
		return fmt.Errorf("%w: %d rows of it take %d plain bytes, at most %d are taken", ErrTooLarge, rows, plan.bodyLen, s.opts.MaxDecoded)
	}
	if e.values != nil {
		if e.written += plan.bodyLen; e.written > s.opts.MaxDecoded {
			return fmt.Errorf("%w: its dictionary values, written out, take more than %d bytes; send smaller batches, or keep the dictionaries",
				ErrTooLarge, s.opts.MaxDecoded)
		}
	}
	block, err := e.memory.alloc(plan.bodyLen)
	if err != nil {
		return err
	}
	plain, buffers := plan.write(block.B)
	header := arrowipc.RecordBatch{Rows: rows, Nodes: plain.nodes, Buffers: buffers, Variadic: plain.variadic}
	measured, err := e.measurer.measure(&plain, e.dictionaries)
	if err != nil {
		Free(&block)
		return err
	}
	if e.codec == compress.None {
		return e.append(&plain, header, compress.None, measured, block)
	}
	defer Free(&block)
	e.encoded.Add(plain.bytes())
	body, err := s.encodeBody(e.memory, &header, plain.bufs, e.codec, e.level)
	if err != nil {
		return err
	}
	if n := int64(len(body.B)); n > e.message {
		if parts := worthwhile(e.columns, e.values, runs, plan.bodyLen, ceilDiv(n, e.message)); parts > 1 {
			Free(&body)
			return e.split(runs, rows, parts)
		}
	}
	return e.append(&plain, header, e.codec, measured, body)
}

// append makes a batch of a body, which it takes over also where it fails; plain are the batch's rows.
func (e *builder) append(plain *plainBatch, h arrowipc.RecordBatch, c compress.Codec, measured []statistics.Column, body arena.Block) error {
	b, err := e.store.newBatch(e.memory, e.stored, h, c, decodedByNode(e.stored, plain), measured, body)
	if err != nil {
		return err
	}
	if err := b.describe(e.memory, e.metadata); err != nil {
		b.Release()
		return err
	}
	e.metadata = nil
	b.level, b.apart = e.level, e.apart
	if c == compress.None {
		b.postpone(e.wanted)
	}
	e.out = append(e.out, b)
	if e.made != nil {
		e.made(b)
	}
	if e.order == nil || e.orderErr != nil {
		return nil
	}
	var piece edges
	if piece, e.orderErr = e.order.batch(e.measurer, plain, e.dictionaries, e.at); e.orderErr == nil {
		e.edges = append(e.edges, piece)
		e.at += piece.rows
	}
	return nil
}

// encodeBody encodes each buffer by itself, one behind the other at multiples of 8, and sets the header's buffers to
// where they lie. The caller owns the body.
func (s *Store) encodeBody(m lender, h *arrowipc.RecordBatch, bufs [][]byte, c compress.Codec, level int) (arena.Block, error) {
	enc, err := s.codecs.Encoder(c, level)
	if err != nil {
		return arena.Block{}, err
	}
	defer enc.Release()
	work := s.getWork()
	defer func() { s.putWork(work) }()
	out := (*work)[:0]
	ranges := make([]arrowipc.Buffer, len(bufs))
	for i, b := range bufs {
		at := len(out)
		if out, err = enc.Append(out, b); err != nil {
			return arena.Block{}, err
		}
		ranges[i] = arrowipc.Buffer{Offset: int64(at), Length: int64(len(out) - at)}
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
	}
	*work = out
	block, err := m.alloc(int64(len(out)))
	if err != nil {
		return arena.Block{}, err
	}
	copy(block.B, out)
	h.Buffers, h.Compression = ranges, arrowipc.Compression(c)
	return block, nil
}
