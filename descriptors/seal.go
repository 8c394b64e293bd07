package descriptors

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

const (
	// KeyBytes is the length of a sealer's key.
	KeyBytes = 32

	// macBytes is what a ticket keeps of its HMAC-SHA256. RFC 2104, section 5, allows half the digest.
	macBytes = 16

	// ticketExtraBytes is the allowance of an opaque ticket beside its command: form, check code, generation, and
	// six varints.
	ticketExtraBytes = 1 + macBytes + MaxGenerationBytes + 6*binary.MaxVarintLen64
)

// Sealer writes and reads opaque tickets. Its check code keeps a client from making one up or changing one; it hides
// nothing. A Sealer is immutable and safe for concurrent use.
//
// Version 1 of an opaque ticket is
//
//	byte     0x01
//	uvarint  length of the command, then the command as canonical JSON
//	uvarint  length of the generation, then the generation
//	uvarint  first batch
//	uvarint  last batch + 1, so that 0 stands for ToEnd
//	uvarint  lease id
//	uvarint  layout of the generation, left out if it is 0
//	16 bytes the front of HMAC-SHA256 over all of the above
type Sealer struct {
	key [KeyBytes]byte
}

// NewSealer returns a sealer with this key, which should come from crypto/rand. Tickets are good for every sealer with
// the same key.
func NewSealer(key [KeyBytes]byte) *Sealer { return &Sealer{key: key} }

// Seal returns the opaque ticket of t. The bytes are the caller's. t must have a command that passes
// [ReadCommand.Validate], a generation of at most [MaxGenerationBytes], and a batch range with 0 <= FirstBatch <=
// LastBatch <= 2^31-1, or ToEnd; of anything else the result is a ticket that [Sealer.Open] refuses.
func (s *Sealer) Seal(t Ticket) []byte {
	command := t.Command.Marshal()
	raw := make([]byte, 0, ticketExtraBytes+len(command))
	raw = append(raw, opaqueTicket)
	raw = appendBytes(raw, command)
	raw = appendBytes(raw, []byte(t.Generation))
	raw = binary.AppendUvarint(raw, uint64(t.FirstBatch))
	raw = binary.AppendUvarint(raw, uint64(t.LastBatch+1))
	raw = binary.AppendUvarint(raw, t.LeaseID)
	if t.Layout != 0 {
		raw = binary.AppendUvarint(raw, t.Layout)
	}
	return append(raw, s.mac(raw)...)
}

func appendBytes(raw, value []byte) []byte {
	raw = binary.AppendUvarint(raw, uint64(len(value)))
	return append(raw, value...)
}

// Open returns what was sealed, under [DefaultLimits]. The error is ErrBadTicket: the ticket is damaged, or comes from
// a sealer with another key. Nothing of raw is kept.
func (s *Sealer) Open(raw []byte) (Ticket, error) { return s.open(raw, DefaultLimits()) }

func (s *Sealer) open(raw []byte, limits Limits) (Ticket, error) {
	if len(raw) > limits.CommandBytes+ticketExtraBytes {
		return Ticket{}, fmt.Errorf("%w: it has %d bytes; at most %d are allowed",
			ErrBadTicket, len(raw), limits.CommandBytes+ticketExtraBytes)
	}
	body, ok := s.authentic(raw)
	if !ok {
		return Ticket{}, fmt.Errorf("%w: it is damaged or comes from another server; get a new one by GetFlightInfo", ErrBadTicket)
	}
	t, err := openBody(body, limits)
	if err != nil {
		// The check code is right, so a server with the same key and other rules or limits made it.
		return Ticket{}, fmt.Errorf("%w: %s; get a new one by GetFlightInfo", ErrBadTicket, err.Error())
	}
	return t, nil
}

// authentic returns what stands between a ticket's first byte and its check code, and whether both are right. Nothing
// is parsed before.
func (s *Sealer) authentic(raw []byte) ([]byte, bool) {
	if len(raw) < 1+macBytes || raw[0] != opaqueTicket {
		return nil, false
	}
	end := len(raw) - macBytes
	return raw[1:end], hmac.Equal(raw[end:], s.mac(raw[:end]))
}

func (s *Sealer) mac(raw []byte) []byte {
	h := hmac.New(sha256.New, s.key[:])
	h.Write(raw)
	return h.Sum(nil)[:macBytes]
}

func openBody(body []byte, limits Limits) (Ticket, error) {
	r := bodyReader{rest: body}
	command := r.bytes("command")
	generation := r.bytes("generation")
	first := r.number("first batch", math.MaxInt32)
	end := r.number("last batch", math.MaxInt32+1)
	lease := r.number("lease", math.MaxUint64)
	layout := uint64(0)
	if len(r.rest) > 0 {
		layout = r.number("layout", math.MaxUint64)
	}
	switch {
	case r.err != nil:
		return Ticket{}, r.err
	case len(r.rest) > 0:
		return Ticket{}, fmt.Errorf("%d bytes follow the layout", len(r.rest))
	case len(generation) > MaxGenerationBytes:
		return Ticket{}, fmt.Errorf("the generation has %d bytes", len(generation))
	case end != 0 && end-1 < first:
		return Ticket{}, fmt.Errorf("the last batch %d is before the first %d", end-1, first)
	}
	c, err := limits.ReadFromCommand(command)
	if err != nil {
		return Ticket{}, err
	}
	return Ticket{
		Command: c, Generation: string(generation),
		FirstBatch: int(first), LastBatch: int(int64(end) - 1), LeaseID: lease, Layout: layout,
	}, nil
}

// bodyReader takes a ticket's fields one by one. After the first error it returns zero values.
type bodyReader struct {
	rest []byte
	err  error
}

func (r *bodyReader) number(field string, most uint64) uint64 {
	if r.err != nil {
		return 0
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most {
		r.err = fmt.Errorf("the %s is cut short or out of range", field)
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *bodyReader) bytes(field string) []byte {
	n := r.number(field+"'s length", math.MaxUint64)
	if r.err == nil && n > uint64(len(r.rest)) {
		r.err = fmt.Errorf("the %s is cut short", field)
	}
	if r.err != nil {
		return nil
	}
	value := r.rest[:n]
	r.rest = r.rest[n:]
	return value
}
