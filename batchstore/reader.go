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
	// Claim is what messages that are made anew are charged to; nil: nobody's, and they never wait for room.
	Claim *Claim
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
	memory     lender // of messages that are made
	projection *arrowipc.Projection
	opts       ReadOptions
	most       int64 // bytes of a body; 0 is no limit

	columns []interval        // of the stored layout: what the chosen columns lie in
	dicts   *readDictionaries // nil if the chosen columns have none

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
		store: s, memory: s.reading(o.Claim), projection: p, opts: o, most: bodyLimit(o.MaxMessage, p.Schema.Layout),
		columns: touched(l, p.Spans), dicts: newReadDictionaries(l, p.Schema.Layout, o.Decode),
	}
}

// Close gives back what the reader kept between batches.
func (r *Reader) Close() { r.dicts.close() }

// Read makes the messages that carry the first rows rows of a batch (all of them where rows is the batch's own count or
// more) and hands them to send in order. The batch must stay retained by the caller until Read returns. The message is
// send's until it returns. Errors are send's own, compress.ErrCorrupt for a damaged body, and those of reading a file.
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
	asStored := r.dicts.decoding() == nil && rows == b.header.Rows && (length <= r.whole() || rows <= 1 && r.acceptable(b))
	stored, err := r.store.open(r.memory, b, r.columns)
	if err != nil {
		return err
	}
	defer stored.release()
	if asStored && (r.acceptable(b) || len(r.batch.Buffers) == 0) {
		return r.sendStored(b, stored, length, send)
	}
	return r.sendDecoded(b, stored, []rowRange{{0, rows}}, send)
}

// maxWhole is the most bytes of a body where the client sets no limit: gRPC has one for messages, of 2 GiB.
const maxWhole = 1 << 30

// whole is the most bytes of a body that goes out as one message.
func (r *Reader) whole() int64 {
	if r.most == 0 {
		return maxWhole
	}
	return r.most
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
		end := b.size
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
func (r *Reader) sendStored(b *Batch, stored view, length int64, send func(*Message) error) error {
	r.body = r.body[:0]
	for _, x := range r.ranges {
		r.body = append(r.body, stored.slice(x))
	}
	return send(&Message{
		Header: r.header.RecordBatch(&r.batch, length, b.metadata), Body: r.body, BodyLength: length,
		Rows: r.batch.Rows, Owner: stored.mem,
	})
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
