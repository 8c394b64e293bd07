package descriptors

import "fmt"

// A ticket's form is told by its first byte. Whatever is neither of these is a plain name, none of which starts so.
const (
	opaqueTicket  = 0x01 // version 1 of the sealed form
	commandTicket = '{'  // a JSON read command
)

// ToEnd as a ticket's LastBatch stands for all batches from its first on.
const ToEnd = -1

// Ticket says what one DoGet sends.
type Ticket struct {
	// Command is the read.
	Command ReadCommand
	// Generation is the generation that the ticket is bound to; "" is the newest at the time of the read. It differs from
	// Command.Generation when the read asked for the newest and GetFlightInfo chose it.
	Generation string
	// Layout is that of the generation which the batches of the range are counted in: the same rows may lie in others when
	// the ticket is used.
	Layout uint64
	// FirstBatch and LastBatch are the range of stored batches, the last excluded; LastBatch may be ToEnd.
	FirstBatch, LastBatch int
	// LeaseID is the lease that the ticket reads under; 0 is none.
	LeaseID uint64
}

// ParseTicket returns what a ticket of any of the three forms says, under [DefaultLimits]:
//
//   - 0x01: an opaque ticket that a [Sealer] with the same key made. The error is ErrBadTicket.
//   - '{': a JSON read command. The errors are those of [ReadFromCommand].
//   - Anything else: a plain dataset name such as "sales/2024". The error is ErrBadTicket and ErrBadName.
//
// A ticket proves nothing about who presents it: permissions are checked whatever its form. s must not be nil. Nothing of
// raw is kept.
func ParseTicket(raw []byte, s *Sealer) (Ticket, error) { return DefaultLimits().ParseTicket(raw, s) }

// ParseTicket is the function of the same name under these limits.
func (l Limits) ParseTicket(raw []byte, s *Sealer) (Ticket, error) {
	if len(raw) == 0 {
		return Ticket{}, fmt.Errorf("%w: it is empty; get one by GetFlightInfo, or send a dataset name or a JSON read command",
			ErrBadTicket)
	}
	switch raw[0] {
	case opaqueTicket:
		return s.open(raw, l)
	case commandTicket:
		c, err := l.ReadFromCommand(raw)
		if err != nil {
			return Ticket{}, fmt.Errorf("ticket: %w", err)
		}
		return Ticket{Command: c, Generation: c.Generation, LastBatch: ToEnd}, nil
	}
	if len(raw) > maxNameBytes {
		return Ticket{}, fmt.Errorf("%w: it is neither opaque nor JSON, and its %d bytes are too long for a dataset name (%d): %w",
			ErrBadTicket, len(raw), maxNameBytes, ErrBadName)
	}
	name, err := ParseNameString(string(raw))
	if err != nil {
		return Ticket{}, fmt.Errorf("%w: it is neither opaque nor JSON, and as a name: %w", ErrBadTicket, err)
	}
	return Ticket{Command: ReadCommand{Dataset: name}, LastBatch: ToEnd}, nil
}
