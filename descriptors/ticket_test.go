package descriptors

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var testSealer = NewSealer([KeyBytes]byte{1, 2, 3})

func TestParseTicketForms(t *testing.T) {
	sealed := Ticket{
		Command:    ReadCommand{Dataset: "sales/2024", Columns: []Column{{Name: "a"}}, Limit: int64p(9)},
		Generation: "3f-12", FirstBatch: 4, LastBatch: 7, LeaseID: math.MaxUint64,
	}
	relaid := sealed
	relaid.Layout = math.MaxUint64
	for _, c := range []struct {
		raw  string
		want Ticket
	}{
		{"sales/2024", Ticket{Command: ReadCommand{Dataset: "sales/2024"}, LastBatch: ToEnd}},
		{" {", Ticket{Command: ReadCommand{Dataset: " {"}, LastBatch: ToEnd}},
		{`{"dataset":"x","columns":[]}`, Ticket{Command: ReadCommand{Dataset: "x", Columns: []Column{}}, LastBatch: ToEnd}},
		{`{"dataset":"x","generation":"g"}`, Ticket{Command: ReadCommand{Dataset: "x", Generation: "g"}, Generation: "g", LastBatch: ToEnd}},
		{string(testSealer.Seal(sealed)), sealed},
		{string(testSealer.Seal(relaid)), relaid},
	} {
		got, err := ParseTicket([]byte(c.raw), testSealer)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q:\n got %+v, %v\nwant %+v", c.raw, got, err, c.want)
		}
	}
}

func TestParseTicketRefuses(t *testing.T) {
	for _, c := range []struct {
		raw  string
		kind error
		want string
	}{
		{"", ErrBadTicket, "it is empty"},
		{"\x00", ErrBadTicket, "U+0000"},
		{"\x02abc", ErrBadTicket, "neither opaque nor JSON"},
		{"a//b", ErrBadTicket, "segment 2 of 3"},
		{"a//b", ErrBadName, "segment 2 of 3"},
		{strings.Repeat("x", maxNameBytes+1), ErrBadTicket, "too long for a dataset name"},
		{strings.Repeat("x", maxNameBytes+1), ErrBadName, "2048 bytes"},
		{"{", ErrBadCommand, "ticket: bad command: read command: the JSON ends too early"},
		{"{" + strings.Repeat(" ", 1<<20), ErrBadCommand, "at most 1048576"},
		{"\x01", ErrBadTicket, "get a new one by GetFlightInfo"},
		{"\x01" + strings.Repeat("\x00", macBytes), ErrBadTicket, "damaged or comes from another server"},
		{"\x01" + strings.Repeat("\x00", 1<<20+ticketExtraBytes), ErrBadTicket, "bytes; at most"},
	} {
		got, err := ParseTicket([]byte(c.raw), testSealer)
		checkRefused(t, err, c.kind, c.want)
		if !reflect.DeepEqual(got, Ticket{}) {
			t.Errorf("%.40q: %+v beside an error", c.raw, got)
		}
	}
}

// TestTicketVersion1 fixes the layout: tickets in clients' hands must stay good when a server is replaced.
func TestTicketVersion1(t *testing.T) {
	raw := testSealer.Seal(Ticket{Command: ReadCommand{Dataset: "x"}, Generation: "g1", FirstBatch: 300, LastBatch: ToEnd, LeaseID: 5})
	want := "01" + "0f" + hex.EncodeToString([]byte(`{"dataset":"x"}`)) + "02" + "6731" + "ac02" + "00" + "05"
	if got := hex.EncodeToString(raw[:len(raw)-macBytes]); got != want {
		t.Errorf("body\n got %s\nwant %s", got, want)
	}
	raw = testSealer.Seal(Ticket{Command: ReadCommand{Dataset: "x"}, Generation: "g1", Layout: 2, FirstBatch: 300, LastBatch: ToEnd, LeaseID: 5})
	if got := hex.EncodeToString(raw[:len(raw)-macBytes]); got != want+"02" {
		t.Errorf("body with a layout\n got %s\nwant %s", got, want+"02")
	}
}

func TestTicketChangedAnywhereIsRefused(t *testing.T) {
	raw := testSealer.Seal(Ticket{Command: ReadCommand{Dataset: "sales/2024"}, Generation: "g", FirstBatch: 1, LastBatch: 2, LeaseID: 3})
	for i := range raw {
		for change := 1; change < 256; change++ {
			changed := bytes.Clone(raw)
			changed[i] ^= byte(change)
			_, err := testSealer.Open(changed)
			checkRefused(t, err, ErrBadTicket, "get a new one by GetFlightInfo")
			if _, err := ParseTicket(changed, testSealer); err == nil {
				t.Errorf("byte %d changed by %#x still parses", i, change)
			}
		}
	}
	for i := range raw {
		_, err := testSealer.Open(raw[:i])
		checkRefused(t, err, ErrBadTicket, "")
		_, err = testSealer.Open(raw[i+1:])
		checkRefused(t, err, ErrBadTicket, "")
	}
	_, err := testSealer.Open(append(bytes.Clone(raw), 0))
	checkRefused(t, err, ErrBadTicket, "damaged")
}

func TestForeignTicketIsRefused(t *testing.T) {
	ticket := Ticket{Command: ReadCommand{Dataset: "x"}, LastBatch: ToEnd}
	_, err := NewSealer([KeyBytes]byte{31: 1}).Open(testSealer.Seal(ticket))
	checkRefused(t, err, ErrBadTicket, "comes from another server; get a new one by GetFlightInfo")
	again, err := NewSealer([KeyBytes]byte{1, 2, 3}).Open(testSealer.Seal(ticket))
	if err != nil || !reflect.DeepEqual(again, ticket) {
		t.Errorf("a sealer with the same key: %+v, %v", again, err)
	}
}

// TestAuthenticBodiesAreCheckedToo seals bodies that Seal would not write: a server of another version may.
func TestAuthenticBodiesAreCheckedToo(t *testing.T) {
	number := func(n uint64) string { return string(binary.AppendUvarint(nil, n)) }
	command := number(15) + `{"dataset":"x"}`
	for _, c := range []struct{ body, want string }{
		{"", "command's length is cut short"},
		{number(5) + "{", "command is cut short"},
		{number(math.MaxUint64) + "{}", "command is cut short"},
		{strings.Repeat("\xff", 11), "command's length is cut short or out of range"},
		{command, "generation's length is cut short"},
		{command + number(9), "generation is cut short"},
		{command + "\x00", "first batch is cut short"},
		{command + "\x00" + number(1<<31) + "\x00\x00", "first batch is cut short or out of range"},
		{command + "\x00\x00", "last batch is cut short"},
		{command + "\x00\x00" + number(1<<31+1) + "\x00", "last batch is cut short or out of range"},
		{command + "\x00\x05" + number(5) + "\x00", "the last batch 4 is before the first 5"},
		{command + "\x00\x00\x00", "lease is cut short"},
		{command + "\x00\x00\x00\x00\xff", "layout is cut short"},
		{command + "\x00\x00\x00\x00\x07x", "1 bytes follow the layout"},
		{command + number(256) + strings.Repeat("g", 256) + "\x00\x00\x00", "generation has 256 bytes"},
		{number(2) + "{}" + "\x00\x00\x00\x00", `key "dataset" is missing`},
		{"\x00\x00\x00\x00\x00", "it is empty"},
		{number(26) + `{"dataset":"x","filters":1}`[:26] + "\x00\x00\x00\x00", "filters: want"},
	} {
		raw := append([]byte{opaqueTicket}, c.body...)
		_, err := testSealer.Open(append(raw, testSealer.mac(raw)...))
		checkRefused(t, err, ErrBadTicket, c.want)
		if errors.Is(err, ErrNotYet) || errors.Is(err, ErrBadCommand) {
			t.Errorf("%v is more than a bad ticket", err)
		}
	}
}

func TestSealOfAnInvalidTicketDoesNotOpen(t *testing.T) {
	good := ReadCommand{Dataset: "x"}
	for _, ticket := range []Ticket{
		{LastBatch: ToEnd},
		{Command: good, FirstBatch: -1, LastBatch: ToEnd},
		{Command: good, FirstBatch: 3, LastBatch: 2},
		{Command: good, LastBatch: -2},
		{Command: good, LastBatch: math.MaxInt},
		{Command: good, Generation: strings.Repeat("g", 256), LastBatch: ToEnd},
	} {
		_, err := testSealer.Open(testSealer.Seal(ticket))
		checkRefused(t, err, ErrBadTicket, "")
	}
}

func TestLargestCommandFitsATicket(t *testing.T) {
	command := ReadCommand{Dataset: "x", Columns: []Column{{Name: strings.Repeat("y", 1<<20-30)}}}
	if n := len(command.Marshal()); n != DefaultLimits().CommandBytes {
		t.Fatalf("the command has %d bytes", n)
	}
	ticket := Ticket{Command: command, Generation: strings.Repeat("g", MaxGenerationBytes),
		FirstBatch: math.MaxInt32, LastBatch: math.MaxInt32, LeaseID: math.MaxUint64, Layout: math.MaxUint64}
	got, err := testSealer.Open(testSealer.Seal(ticket))
	if err != nil || !reflect.DeepEqual(got, ticket) {
		t.Errorf("it does not open: %v", err)
	}
}

func TestTicketRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ticket := Ticket{
			Command:    drawRead(t),
			Generation: rapid.StringN(0, 20, MaxGenerationBytes).Draw(t, "bound generation"),
			FirstBatch: rapid.IntRange(0, math.MaxInt32).Draw(t, "first"),
			LastBatch:  ToEnd,
			LeaseID:    rapid.Uint64().Draw(t, "lease"),
			Layout:     rapid.Uint64().Draw(t, "layout"),
		}
		if rapid.Bool().Draw(t, "bounded") {
			ticket.LastBatch = rapid.IntRange(ticket.FirstBatch, math.MaxInt32).Draw(t, "last")
		}
		raw := testSealer.Seal(ticket)
		got, err := ParseTicket(raw, testSealer)
		if err != nil || !reflect.DeepEqual(got, ticket) {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, ticket)
		}
		if raw[0] != opaqueTicket || !bytes.Equal(raw, testSealer.Seal(got)) {
			t.Fatalf("sealed again it differs: %x", raw)
		}
	})
}

// FuzzTicket takes each input twice: as a ticket, and as the body of one whose check code is right.
func FuzzTicket(f *testing.F) {
	sealed := testSealer.Seal(Ticket{Command: ReadCommand{Dataset: "x", Columns: []Column{}}, Generation: "g", LastBatch: 2, LeaseID: 1})
	for _, raw := range [][]byte{
		sealed, sealed[1 : len(sealed)-macBytes], sealed[:7], []byte("sales/2024"), []byte(`{"dataset":"x"}`), {}, {0}, {1}, {'{'},
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		body := append([]byte{opaqueTicket}, raw...)
		for _, in := range [][]byte{raw, append(body, testSealer.mac(body)...)} {
			ticket, err := ParseTicket(in, testSealer)
			if err != nil {
				if !errors.Is(err, ErrBadTicket) && !errors.Is(err, ErrBadCommand) && !errors.Is(err, ErrNotYet) {
					t.Fatalf("error of no kind: %v", err)
				}
				continue
			}
			again, err := testSealer.Open(testSealer.Seal(ticket))
			if err != nil || !reflect.DeepEqual(again, ticket) {
				t.Fatalf("%+v sealed and opened is %+v, %v", ticket, again, err)
			}
		}
	})
}

func BenchmarkOpenTicket(b *testing.B) {
	raw := testSealer.Seal(Ticket{
		Command:    ReadCommand{Dataset: "sales/2024", Columns: []Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Limit: int64p(10)},
		Generation: "3f5c9a-12", LastBatch: 70, LeaseID: 9,
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := testSealer.Open(raw); err != nil {
			b.Fatal(err)
		}
	}
}
