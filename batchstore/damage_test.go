package batchstore

import (
	"bytes"
	"errors"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/compress"
)

// sendPlain asks for plain buffers, so that everything that is sent is decoded.
var sendPlain = ReadOptions{Accept: func(compress.Codec) bool { return false }, Encode: compress.None}

// readColumns makes the messages of the whole of a batch's columns.
func readColumns(t *testing.T, s *Store, schema *arrowipc.Schema, b *Batch, send func(*Message) error, ordinals ...int) error {
	t.Helper()
	var picks []arrowipc.Pick
	for _, i := range ordinals {
		picks = append(picks, arrowipc.Pick{Ordinal: i})
	}
	p, err := schema.Project(picks)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Reader(schema.Layout, p, sendPlain)
	defer r.Close()
	return r.Read(b, b.Rows(), send)
}

// TestDamagedBuffers damages the buffers of a batch one at a time, the first and the last among them: stored or
// arriving, the batch is refused with the kind of the damage, and what had been decoded before is given back.
func TestDamagedBuffers(t *testing.T) {
	schema := schemaOf(t, i64, str, i64)
	numbers, offsets := make([]byte, 8*4000), make([]byte, 4*4001)
	for i := range 4000 {
		putInt(offsets, 4, int64(i)+1, 4000) // the first row has all the text: nothing here that would be stored raw
	}
	source := &plainBatch{rows: 4000, nodes: nodes(4000, 4000, 4000), bufs: [][]byte{
		nil, numbers, nil, offsets, bytes.Repeat([]byte("a"), 4000), nil, numbers,
	}}
	for _, c := range []compress.Codec{compress.LZ4, compress.Zstd} {
		for i, buf := range source.bufs {
			if len(buf) == 0 {
				continue
			}
			s := newStore(t, Options{})
			batches, err := put(t, s, schema, IngestOptions{Codec: c}, plainly, source)
			if err != nil {
				t.Fatal(err)
			}
			b := batches[0]
			x := b.header.Buffers[i]
			bodyOf(b)[x.Offset+x.Length-1] ^= 0x55
			bodyOf(b)[x.Offset+8] ^= 0x55
			charged := s.Stats().Charged
			err = readColumns(t, s, schema, b, func(*Message) error {
				t.Errorf("%v: a message was sent of a batch whose buffer %d is damaged", c, i)
				return nil
			}, 0, 1, 2)
			if !errors.Is(err, compress.ErrCorrupt) {
				t.Errorf("%v: a stored batch with buffer %d damaged: got %v", c, i, err)
			}
			if now := s.Stats().Charged; now != charged {
				t.Errorf("%v: %d bytes charged before the failed read, %d after it", c, charged, now)
			}
			b.Release()

			m, bytes := s.message(t, source, c)
			x = m.Batch.Buffers[i]
			bytes[x.Offset+8] ^= 0x55
			in := begin(t, s, schema, IngestOptions{Codec: c, KeepArriving: true})
			err = in.Add(t.Context(), m, body(t, s, bytes))
			if err == nil {
				_, err = in.Finish(t.Context())
			}
			if !errors.Is(err, ErrInvalidBatch) || !errors.Is(err, compress.ErrCorrupt) {
				t.Errorf("%v: an arriving batch with buffer %d damaged: got %v", c, i, err)
			}
			in.Abort()
		}
	}
}

// TestSmallColumnOfALargeBatch reads a bitmap that was stored raw beside megabytes of text. What is made of it has
// memory of its own, and no more than it needs: to hold it does not hold the text.
func TestSmallColumnOfALargeBatch(t *testing.T) {
	const rows, textBytes = 4000, 3 << 20
	schema := schemaOf(t, boolean, str)
	bits := make([]byte, rows/8)
	text := make([]byte, textBytes)
	r := seeded(t)
	for i := range bits {
		bits[i] = byte(r.Uint32())
	}
	for i := range text {
		text[i] = 'a' + byte(r.IntN(16))
	}
	offsets := make([]byte, 4*(rows+1))
	for i := range rows + 1 {
		putInt(offsets, 4, int64(i), int64(i)*textBytes/rows)
	}
	source := &plainBatch{rows: rows, nodes: nodes(rows, rows), bufs: [][]byte{nil, bits, nil, offsets, text}}
	for _, c := range []compress.Codec{compress.LZ4, compress.Zstd} {
		s := newStore(t, Options{})
		batches, err := put(t, s, schema, IngestOptions{Codec: c, KeepBatches: true}, plainly, source)
		if err != nil {
			t.Fatal(err)
		}
		b := batches[0]
		var kept Owner
		slab := body(t, s, make([]byte, len(bits))) // small blocks share one, which is charged with the first of them
		withBatch := s.Stats().Charged
		err = readColumns(t, s, schema, b, func(m *Message) error {
			if got := bytes.Join(m.Body, nil); !bytes.Equal(got[:len(bits)], bits) {
				t.Errorf("%v: the bits came out differently", c)
			}
			kept = m.Owner
			kept.Retain()
			return nil
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.Stats().Charged - withBatch; n > 64<<10 {
			t.Errorf("%v: a message of %d bytes holds %d", c, len(bits), n)
		}
		b.Release()
		if n := withBatch - s.Stats().Charged; n < textBytes/4 {
			t.Errorf("%v: with the batch gone but for a message of %d bytes, only %d were given back", c, len(bits), n)
		}
		kept.Release()
		Free(&slab)
	}
}
