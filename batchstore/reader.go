package batchstore

import (
	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// ReadOptions says in which form a reader's messages go out.
type ReadOptions struct {
	// Accept tells whether stored buffers of a codec may be sent as they are. Plain ones always may, unless Encode
	// is set.
	Accept func(compress.Codec) bool
	// Encode is the codec that batches which may not be sent as stored are encoded with; compress.None sends them plain.
	Encode compress.Codec
	Level  int // of Encode; 0 is the store's
	// Decode tells which dictionaries' values are sent in place of indices; nil: none. A dictionary whose values need
	// one that is decoded is decoded too: the caller sees to it.
	Decode func(id int64) bool
	// MaxMessage is the most bytes of a message, its header included; what is larger is decoded and cut into equal parts,
	// down to single rows. 0 is no limit. Dictionaries are not cut, nor is room made for custom metadata.
	MaxMessage int64
}

// Message is one record batch message to send.
type Message struct {
	Header     []byte   // the Message flatbuffer; valid until the next message is made
	Body       [][]byte // the body, in pieces
	BodyLength int64    // their sum
	Rows       int64    // 0 of a dictionary
	Dictionary bool     // it is a dictionary batch, which later batches need
	Decoded    int64    // plain bytes that had to be decoded for it
	Encoded    int64    // plain bytes that had to be encoded for it
	Owner      Owner    // holds Body; Retain it for as long as Body is used after the message has been handed over
}

// Reader makes messages of the chosen columns of batches of one schema. What is the same for every batch is worked out
// once, when it is made. It belongs to one goroutine.
type Reader struct {
	store      *Store
	projection *arrowipc.Projection
	opts       ReadOptions
	most       int64 // bytes of a body; 0 is no limit

	dicts *readDictionaries // nil if the chosen columns have none

	header arrowipc.HeaderBuilder
	batch  arrowipc.RecordBatch // of the message under construction; its slices are reused
	ranges []arrowipc.Buffer    // of the stored body, adjacent ones merged
	body   [][]byte
}

// Reader prepares a read of these columns of batches of this layout. The caller closes it.
func (s *Store) Reader(l *arrowipc.Layout, p *arrowipc.Projection, o ReadOptions) *Reader {
	if o.Accept == nil {
		o.Accept = func(compress.Codec) bool { return true }
	}
	return &Reader{
		store: s, projection: p, opts: o, most: bodyLimit(o.MaxMessage, p.Schema.Layout),
		dicts: newReadDictionaries(l, p.Schema.Layout, o.Decode),
	}
}

// Close gives back what the reader kept between batches.
func (r *Reader) Close() { r.dicts.close() }

// Read makes the messages that carry the first rows rows of a batch (all of them where rows is the batch's own count or
// more) and hands them to send in order. The batch must stay retained by the caller until Read returns. The message is
// send's until it returns. Errors are send's own, and compress.ErrCorrupt for a damaged body.
func (r *Reader) Read(b *Batch, rows int64, send func(*Message) error) error {
	rows = min(rows, b.header.Rows)
	if err := r.dicts.prepare(r, b, send); err != nil {
		return err
	}
	r.gather(b)
	length := int64(0)
	for _, x := range r.ranges {
		length += x.Length
	}
	asStored := r.dicts.decoding() == nil && rows == b.header.Rows && (r.most == 0 || length <= r.most || rows <= 1 && r.acceptable(b))
	if asStored && (r.acceptable(b) || len(r.batch.Buffers) == 0) {
		return r.sendStored(b, length, send)
	}
	return r.sendDecoded(b, rows, send)
}

func (r *Reader) acceptable(b *Batch) bool {
	if b.codec == compress.None {
		return r.opts.Encode == compress.None
	}
	return r.opts.Accept(b.codec)
}

// gather sets batch to the header of the chosen columns, with buffer offsets of the body to send, and ranges to the
// parts of the stored body that make it up.
func (r *Reader) gather(b *Batch) {
	h := &b.header
	out := &r.batch
	out.Rows, out.Compression = h.Rows, h.Compression
	out.Nodes, out.Buffers, out.Variadic = out.Nodes[:0], out.Buffers[:0], out.Variadic[:0]
	r.ranges = r.ranges[:0]
	pos := int64(0)
	for _, span := range r.projection.Spans {
		first := span.Buf0 + int(sum(h.Variadic[:span.View0]))
		variadic := h.Variadic[span.View0:span.View1]
		last := first + span.Buf1 - span.Buf0 + int(sum(variadic))
		out.Nodes = append(out.Nodes, h.Nodes[span.Node0:span.Node1]...)
		out.Variadic = append(out.Variadic, variadic...)
		if first == last {
			continue
		}
		start := h.Buffers[first].Offset
		end := int64(len(b.body.B))
		if last < len(h.Buffers) {
			end = h.Buffers[last].Offset
		}
		for _, x := range h.Buffers[first:last] {
			out.Buffers = append(out.Buffers, arrowipc.Buffer{Offset: x.Offset - start + pos, Length: x.Length})
		}
		pos += end - start
		if k := len(r.ranges); k > 0 && r.ranges[k-1].Offset+r.ranges[k-1].Length == start {
			r.ranges[k-1].Length += end - start
		} else if end > start {
			r.ranges = append(r.ranges, arrowipc.Buffer{Offset: start, Length: end - start})
		}
	}
	if len(out.Buffers) == 0 {
		out.Compression = arrowipc.Uncompressed // there is nothing that could be compressed
	}
}

// sendStored sends the stored bytes as they lie.
func (r *Reader) sendStored(b *Batch, length int64, send func(*Message) error) error {
	r.body = r.body[:0]
	for _, x := range r.ranges {
		r.body = append(r.body, b.body.B[x.Offset:x.Offset+x.Length])
	}
	return send(&Message{
		Header: r.header.RecordBatch(&r.batch, length, b.metadata), Body: r.body, BodyLength: length,
		Rows: r.batch.Rows, Owner: b,
	})
}

// sendDecoded decodes the chosen columns, cuts them where they are too large, and sends them plain or encoded again.
func (r *Reader) sendDecoded(b *Batch, rows int64, send func(*Message) error) error {
	plain := &plainBatch{rows: b.header.Rows, nodes: r.batch.Nodes, variadic: r.batch.Variadic}
	columns := r.projection.Schema.Layout.Columns // plain holds the chosen columns only, in the answer's order
	decoded := int64(0)
	// The stored ranges are positions in the stored body; offsets of r.batch are those of the body to send. Decoding
	// reads each chosen buffer from the stored body, so it walks the spans again.
	stored := r.storedBuffers(b)
	var whole *scratch
	if b.codec == compress.None {
		plain.bufs = sliceBuffers(b.body.B, stored)
	} else {
		block, err := r.store.decodePlain(plain, stored, b.body.B, b.codec)
		if err != nil {
			return err
		}
		whole = newScratch(block)
		defer whole.Release()
		decoded = plain.bytes()
	}

	length := paddedSize(plain.bufs)
	if r.dicts.decoding() == nil && rows == plain.rows && r.opts.Encode == compress.None && whole != nil &&
		(r.most == 0 || length <= r.most || rows <= 1) {
		r.batch.Compression = arrowipc.Uncompressed
		layOut(&r.batch, plain.bufs)
		return send(&Message{
			Header: r.header.RecordBatch(&r.batch, length, b.metadata), Body: [][]byte{whole.block.B[:length]},
			BodyLength: length, Rows: rows, Decoded: decoded, Owner: whole,
		})
	}
	first := true
	emit := func(m *Message) error {
		if first {
			m.Decoded, first = decoded, false
		}
		return send(m)
	}
	parts := int64(1)
	if r.most > 0 {
		share := int64(float64(length) * float64(rows) / float64(max(plain.rows, 1)))
		parts = min(max(1, rows), max(1, ceilDiv(share, r.most)))
	}
	return r.sendParts(columns, []run{{b: plain, n: rows}}, parts, r.encodeAs(b), b.metadata, emit)
}

// encodeAs is the codec of a message that is made anew out of a batch.
func (r *Reader) encodeAs(b *Batch) compress.Codec {
	if r.opts.Encode == compress.None && b.codec != compress.None && r.opts.Accept(b.codec) {
		return b.codec // it would have been sent so, had it not to be cut
	}
	return r.opts.Encode
}

// sendPart makes one message of rows of a plain batch, and cuts it again where its exact size passes the limit.
func (r *Reader) sendPart(columns []*arrowipc.Column, part []run, c compress.Codec, meta []arrowipc.KeyValue, send func(*Message) error) error {
	rows := totalRows(part)
	most := r.most
	if c != compress.None || most == 0 {
		most = maxBody // the plain size does not tell yet
	}
	plan, parts, err := measure(columns, r.dicts.decoding(), part, most)
	if err != nil {
		return err
	}
	if parts > 1 {
		return r.sendParts(columns, part, parts, c, meta, send)
	}
	block, err := r.store.Alloc(int(plan.bodyLen))
	if err != nil {
		return err
	}
	plain, buffers := plan.write(block.B)
	header := arrowipc.RecordBatch{
		Rows: rows, Nodes: plain.nodes, Buffers: buffers, Variadic: plain.variadic, Compression: arrowipc.Uncompressed,
	}
	encoded := int64(0)
	if c != compress.None {
		encoded = plain.bytes()
		body, err := r.store.encodeBody(&header, plain.bufs, c, r.opts.Level)
		Free(&block)
		if err != nil {
			return err
		}
		block = body
		if n := int64(len(body.B)); r.most > 0 && n > r.most {
			if parts := worthwhile(columns, r.dicts.decoding(), part, plan.bodyLen, ceilDiv(n, r.most)); parts > 1 {
				Free(&block)
				return r.sendParts(columns, part, parts, c, meta, send)
			}
		}
	}
	owner := newScratch(block)
	defer owner.Release()
	length := int64(len(block.B))
	return send(&Message{
		Header: r.header.RecordBatch(&header, length, meta), Body: [][]byte{block.B}, BodyLength: length,
		Rows: rows, Encoded: encoded, Owner: owner,
	})
}

func (r *Reader) sendParts(columns []*arrowipc.Column, runs []run, parts int64, c compress.Codec, meta []arrowipc.KeyValue, send func(*Message) error) error {
	for _, part := range splitRuns(runs, totalRows(runs), parts) {
		if err := r.sendPart(columns, part, c, meta, send); err != nil {
			return err
		}
		meta = nil // a cut batch's first part keeps it
	}
	return nil
}

// storedBuffers are the chosen buffers' ranges in the stored body, in the answer's order.
func (r *Reader) storedBuffers(b *Batch) []arrowipc.Buffer {
	h := &b.header
	out := make([]arrowipc.Buffer, 0, len(r.batch.Buffers))
	for _, span := range r.projection.Spans {
		first := span.Buf0 + int(sum(h.Variadic[:span.View0]))
		last := first + span.Buf1 - span.Buf0 + int(sum(h.Variadic[span.View0:span.View1]))
		out = append(out, h.Buffers[first:last]...)
	}
	return out
}

// layOut sets the header's buffers to where bufs lie one behind the other, each at a multiple of 8.
func layOut(h *arrowipc.RecordBatch, bufs [][]byte) {
	pos := int64(0)
	h.Buffers = h.Buffers[:0]
	for _, b := range bufs {
		h.Buffers = append(h.Buffers, arrowipc.Buffer{Offset: pos, Length: int64(len(b))})
		pos += pad8(int64(len(b)))
	}
}

func paddedSize(bufs [][]byte) (n int64) {
	for _, b := range bufs {
		n += pad8(int64(len(b)))
	}
	return n
}

func pad8(n int64) int64 { return (n + 7) &^ 7 }

func sum(v []int64) (n int64) {
	for _, x := range v {
		n += x
	}
	return n
}
