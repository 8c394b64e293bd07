package batchstore

import (
	"fmt"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// rowRange is a range of a batch's rows.
type rowRange struct{ from, n int64 }

// sendDecoded decodes the chosen columns and sends these rows of them, plain or encoded again, cut where they are too
// large.
func (r *Reader) sendDecoded(b *Batch, body view, ranges []rowRange, send func(*Message) error) error {
	plain := &plainBatch{rows: b.header.Rows, nodes: r.batch.Nodes, variadic: r.batch.Variadic}
	columns := r.projection.Schema.Layout.Columns // plain holds the chosen columns only, in the answer's order
	decoded := int64(0)
	// The stored ranges are positions in the stored body; offsets of r.batch are those of the body to send. Decoding
	// reads each chosen buffer from the stored body, so it walks the spans again.
	stored := body.slices(r.storedBuffers(b))
	var whole *resident
	if b.codec == compress.None {
		plain.bufs = stored
	} else {
		block, err := r.store.decodePlain(r.memory, plain, stored, b.codec)
		if err != nil {
			return err
		}
		whole = newResident(block)
		defer whole.Release()
		decoded = plain.bytes()
	}

	runs := make([]run, len(ranges))
	for i, x := range ranges {
		runs[i] = run{b: plain, from: x.from, n: x.n}
	}
	rows := totalRows(runs)
	length := paddedSize(plain.bufs)
	if r.dicts.decoding() == nil && rows == plain.rows && r.opts.Encode == compress.None && whole != nil &&
		(length <= r.whole() || rows <= 1) {
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
	if r.most > 0 || length > maxWhole {
		share := int64(float64(length) * float64(rows) / float64(max(plain.rows, 1)))
		parts = min(max(1, rows), max(1, ceilDiv(share, r.whole())))
	}
	return r.sendParts(columns, runs, parts, r.encodeAs(b), b.metadata, emit)
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
		if r.dicts.decoding() != nil {
			most = r.store.opts.MaxBatchBytes // stored batches are bounded by it, values in place of indices are not
		}
	}
	plan, parts, err := measure(columns, r.dicts.decoding(), part, most)
	if err != nil {
		return err
	}
	if parts > 1 {
		return r.sendParts(columns, part, parts, c, meta, send)
	}
	if r.dicts.decoding() != nil && plan.bodyLen > r.store.opts.MaxDecoded {
		return fmt.Errorf("%w: %d rows with dictionary values written out take %d bytes, at most %d are made; read with dictionaries kept",
			ErrTooLarge, rows, plan.bodyLen, r.store.opts.MaxDecoded)
	}
	block, err := r.memory.alloc(plan.bodyLen)
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
		body, err := r.store.encodeBody(r.memory, &header, plain.bufs, c, r.opts.Level)
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
	owner := newResident(block)
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
