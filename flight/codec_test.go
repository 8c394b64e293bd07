package flight

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/arena"
)

func protoSize(m *arrowflight.FlightData) int { return proto.Size(m) }

// bodied is how many bytes of FlightData the server's messages are: it writes the body field of a batch even when it is
// empty, three bytes that protobuf's own encoder leaves out.
func bodied(out []*arrowflight.FlightData) int64 {
	n := wireSize(out)
	for _, m := range out[1:] {
		if len(m.DataBody) == 0 {
			n += 3
		}
	}
	return n
}

// pieces cuts a message where the seed says, as a transport's frames do.
func pieces(raw []byte, seed uint64) (out mem.BufferSlice) {
	r := rand.New(rand.NewPCG(seed, 1))
	for len(raw) > 0 {
		n := 1 + r.IntN(min(len(raw), 1+r.IntN(64)))
		out = append(out, mem.SliceBuffer(raw[:n:n]))
		raw = raw[n:]
	}
	return out
}

// received is what an incoming message says, its memory copied.
type received struct {
	descriptor, header, body []byte
	hasDescriptor            bool
}

// newArena makes an arena to receive bodies into; every one of them must have been freed when the test ends.
func newArena(t testing.TB) *arena.Arena {
	t.Helper()
	_, measured := t.(*testing.B)
	a, err := arena.New(arena.Options{ReserveBytes: 64 << 20, WarmBytes: 8 << 20, Poison: !measured})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// unmarshal reads a message by the codec, as a put does.
func unmarshal(t testing.TB, m *incoming, a *arena.Arena, data mem.BufferSlice) (received, error) {
	t.Helper()
	m.alloc = func(_ []byte, n int) (arena.Block, error) {
		if n > data.Len() {
			t.Errorf("a body of %d bytes is allocated for a message of %d", n, data.Len())
		}
		return a.Alloc(n)
	}
	if err := NewCodec().Unmarshal(data, m); err != nil {
		t.Fatalf("the codec reports %v to gRPC", err)
	}
	if m.size != data.Len() {
		t.Errorf("size %d, want %d", m.size, data.Len())
	}
	return received{descriptor: m.descriptor, header: bytes.Clone(m.header), body: bytes.Clone(m.body.B), hasDescriptor: m.descriptor != nil}, m.err
}

func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func TestCodecReadsFields(t *testing.T) {
	header, body := []byte("a header"), bytes.Repeat([]byte("body"), 1000)
	path, err := proto.Marshal(byPath("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	varint := protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), 1<<63)
	fixed := protowire.AppendFixed32(protowire.AppendTag(nil, 9, protowire.Fixed32Type), 1)
	fixed = protowire.AppendFixed64(protowire.AppendTag(fixed, 9, protowire.Fixed64Type), 1)
	cases := map[string]struct {
		raw  []byte
		want received
	}{
		"nothing":                {nil, received{}},
		"all":                    {bytes.Join([][]byte{field(1, path), field(2, header), field(3, []byte("app")), field(1000, body)}, nil), received{path, header, body, true}},
		"body first":             {bytes.Join([][]byte{field(1000, body), field(2, header), field(1, path)}, nil), received{path, header, body, true}},
		"empty descriptor":       {field(1, nil), received{hasDescriptor: true}},
		"empty body":             {append(field(2, header), field(1000, nil)...), received{header: header}},
		"last header":            {append(field(2, []byte("a longer one")), field(2, header)...), received{header: header}},
		"last header is empty":   {append(field(2, header), field(2, nil)...), received{}},
		"last body":              {append(field(1000, []byte("first")), field(1000, body)...), received{body: body}},
		"last body is empty":     {append(field(1000, body), field(1000, nil)...), received{}},
		"unknown fields":         {bytes.Join([][]byte{field(4, header), varint, fixed, field(2, header), field(1001, header)}, nil), received{header: header}},
		"header of a wrong type": {append(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 5), field(2, header)...), received{header: header}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := &incoming{}
			got, err := unmarshal(t, m, newArena(t), pieces(c.raw, 3))
			defer m.drop()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.descriptor, c.want.descriptor) || got.hasDescriptor != c.want.hasDescriptor ||
				!bytes.Equal(got.header, c.want.header) || !bytes.Equal(got.body, c.want.body) {
				t.Errorf("got %q, %q and a body of %d bytes", got.descriptor, got.header, len(got.body))
			}
		})
	}
}

func TestCodecRefuses(t *testing.T) {
	tag := func(number protowire.Number, typ protowire.Type) []byte { return protowire.AppendTag(nil, number, typ) }
	full := append(field(2, []byte("header")), field(1000, bytes.Repeat([]byte{1}, 5000))...)
	cases := map[string][]byte{
		"a tag alone":                   tag(2, protowire.BytesType),
		"half a tag":                    {0x80},
		"half a length":                 append(tag(1000, protowire.BytesType), 0x80),
		"a length of eleven bytes":      append(tag(2, protowire.BytesType), bytes.Repeat([]byte{0xff}, 11)...),
		"a length beyond the message":   append(tag(1000, protowire.BytesType), protowire.AppendVarint(nil, 1<<40)...),
		"a length of 2^64-1":            append(tag(1000, protowire.BytesType), protowire.AppendVarint(nil, 1<<64-1)...),
		"half a varint":                 append(tag(9, protowire.VarintType), 0x80),
		"half a fixed32":                append(tag(9, protowire.Fixed32Type), 1, 2),
		"half a fixed64":                append(tag(9, protowire.Fixed64Type), 1, 2, 3, 4, 5),
		"a group":                       tag(9, protowire.StartGroupType),
		"a wire type of no meaning":     {9<<3 | 7},
		"a body cut short":              full[:len(full)-1],
		"a descriptor over its bound":   field(1, make([]byte, maxDescriptorBytes+1)),
		"garbage after a complete body": append(bytes.Clone(full), 0xff),
	}
	for name, raw := range cases {
		t.Run(name, func(t *testing.T) {
			m := &incoming{}
			_, err := unmarshal(t, m, newArena(t), pieces(raw, 4))
			defer m.drop()
			if !errors.Is(err, errFlightData) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The header's bound is large: it is tried with a message that only says so.
func TestCodecBoundsHeadersBeforeAllocation(t *testing.T) {
	raw := field(2, make([]byte, maxHeaderBytes+1))
	m := &incoming{}
	_, err := unmarshal(t, m, newArena(t), mem.BufferSlice{mem.SliceBuffer(raw)})
	if !errors.Is(err, errFlightData) || cap(m.header) > 0 {
		t.Errorf("got %v, and %d bytes of header", err, cap(m.header))
	}
}

// One message is used for a whole stream: what it says is of the last, and a body that nobody took is freed.
func TestCodecReusesItsMessage(t *testing.T) {
	a, m := newArena(t), &incoming{}
	defer m.drop()
	full := bytes.Join([][]byte{field(1, []byte{}), field(2, []byte("header")), field(1000, bytes.Repeat([]byte{1}, 5000))}, nil)
	for i := range 3 {
		if got, err := unmarshal(t, m, a, pieces(full, uint64(i))); err != nil || len(got.body) != 5000 || !got.hasDescriptor {
			t.Fatalf("%v, a body of %d bytes", err, len(got.body))
		}
		if n := a.Stats().Blocks; n != 1 {
			t.Fatalf("%d bodies are live", n)
		}
	}
	taken := m.takeBody()
	if got, err := unmarshal(t, m, a, nil); err != nil || got.hasDescriptor || len(got.header)+len(got.body) > 0 {
		t.Errorf("an empty message says %+v, %v", got, err)
	}
	if taken.B[4999] != 1 {
		t.Error("a body that was taken was freed")
	}
	taken.Free()
	refused := errors.New("no room")
	m.alloc = func([]byte, int) (arena.Block, error) { return arena.Block{}, refused }
	if err := m.read(pieces(full, 1)); !errors.Is(err, refused) || m.hasBody {
		t.Errorf("got %v", err)
	}
}

func TestCodecCountsDiscardedMessages(t *testing.T) {
	var d discarded
	if err := NewCodec().Unmarshal(pieces([]byte("no protobuf at all"), 1), &d); err != nil || d.bytes != 18 {
		t.Errorf("%d bytes, %v", d.bytes, err)
	}
}

// What the codec writes is what protobuf reads: the header with zeros behind it, as many as put the body at a multiple of
// eight in gRPC's stream, and the body field of a batch even when it is empty.
func TestCodecWritesFields(t *testing.T) {
	r := newRig(t, 0)
	lend := func(n int) ([]byte, batchstore.Owner, error) {
		r.owner.Retain()
		return make([]byte, n), r.owner, nil
	}
	header, large := []byte("header"), bytes.Repeat([]byte("header"), largeHeader/6+1)
	for name, c := range map[string]struct {
		header []byte
		body   [][]byte
		app    []byte
	}{
		"body in pieces":           {header, [][]byte{bytes.Repeat([]byte{1}, 3000), {2, 3}, bytes.Repeat([]byte{4}, 2000)}, nil},
		"empty body":               {header, nil, nil},
		"metadata":                 {header, [][]byte{{1}}, []byte("{}")},
		"large header":             {large, [][]byte{bytes.Repeat([]byte{1}, 3000)}, []byte("{}")},
		"large header, empty body": {large, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			want := bytes.Join(c.body, nil)
			m, err := batchMessage(r.lease, &batchstore.Message{Header: c.header, Body: c.body, BodyLength: int64(len(want)), Owner: r.owner}, c.app, lend)
			if err != nil {
				t.Fatal(err)
			}
			data, err := NewCodec().Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			raw := data.Materialize()
			data.Free()
			if len(raw) != m.size {
				t.Errorf("%d bytes, counted as %d", len(raw), m.size)
			}
			tag := protowire.AppendTag(nil, fieldBody, protowire.BytesType)
			if before, found := bytes.CutSuffix(raw, append(protowire.AppendVarint(tag, uint64(len(want))), want...)); !found {
				t.Errorf("no body field at the end of %d bytes", len(raw))
			} else if at := len(raw) - len(want); (5+at)%8 != 0 {
				t.Errorf("the body begins at byte %d of the message, behind 5 of gRPC's and %d of other fields", at, len(before))
			}
			var got arrowflight.FlightData
			if err := proto.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			padding, found := bytes.CutPrefix(got.DataHeader, c.header)
			if !found || len(padding) > 8 || len(bytes.Trim(padding, "\x00")) > 0 {
				t.Errorf("the header is %q", got.DataHeader)
			}
			if !bytes.Equal(got.DataBody, want) || !bytes.Equal(got.AppMetadata, c.app) {
				t.Errorf("a body of %d bytes that differs from one of %d, or metadata %q, want %q", len(got.DataBody), len(want), got.AppMetadata, c.app)
			}
		})
	}
	r.want(0, 1)
	if _, err := batchMessage(r.lease, &batchstore.Message{Header: large, Owner: r.owner}, nil, func(int) ([]byte, batchstore.Owner, error) {
		return nil, nil, batchstore.ErrMemory
	}); !errors.Is(err, batchstore.ErrMemory) {
		t.Errorf("without memory for the header: %v", err)
	}
}

// A schema is sent behind its tag, with zeros behind it; a large one is not copied, and held until it is sent.
func TestCodecWritesSchemas(t *testing.T) {
	r := newRig(t, 0)
	for _, n := range []int{0, 100, largeHeader, largeHeader + 1, largeHeader + 8, 1 << 20} {
		header := bytes.Repeat([]byte{7}, n)
		m := schemaMessage(r.lease, header, r.owner)
		data, err := NewCodec().Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if held := r.owner.count(); held != map[bool]int{true: 1}[n > largeHeader] {
			t.Errorf("%d bytes: held %d times", n, held)
		}
		raw := data.Materialize()
		data.Free()
		var got arrowflight.FlightData
		if err := proto.Unmarshal(raw, &got); err != nil || len(raw) != m.size {
			t.Errorf("%d bytes: %v, %d bytes, counted as %d", n, err, len(raw), m.size)
		}
		padding, found := bytes.CutPrefix(got.DataHeader, header)
		if !found || len(padding) > 8 || len(bytes.Trim(padding, "\x00")) > 0 {
			t.Errorf("%d bytes: %d came", n, len(got.DataHeader))
		}
	}
	r.want(0, 1)
}

// Every length of header aligns the body, also where its own length takes another byte.
func TestHeadersAlignBodies(t *testing.T) {
	for n := range 300 {
		for rest := range 10 {
			header := bytes.Repeat([]byte{1}, n)
			b := appendHeader(nil, header, rest)
			number, kind, tagged := protowire.ConsumeTag(b)
			got, size := protowire.ConsumeBytes(b[tagged:])
			padding, found := bytes.CutPrefix(got, header)
			if number != fieldHeader || kind != protowire.BytesType || tagged+size != len(b) || !found {
				t.Fatalf("%d bytes of header are no field of it: % x", n, b)
			}
			if (5+len(b)+rest)%8 != 0 || len(padding) > 14 || len(bytes.Trim(padding, "\x00")) > 0 {
				t.Fatalf("%d bytes of header and %d behind it are padded by % x", n, rest, padding)
			}
		}
	}
}

// FuzzIncoming holds the codec against protobuf's own: they agree on every field of what both take, and what protobuf
// takes the codec refuses for its bounds and for groups only.
func FuzzIncoming(f *testing.F) {
	path, _ := proto.Marshal(byPath("a", "b"))
	whole, _ := proto.Marshal(&arrowflight.FlightData{
		FlightDescriptor: byPath("a"), DataHeader: []byte("header"), AppMetadata: []byte("app"), DataBody: bytes.Repeat([]byte("body"), 100),
	})
	f.Add(whole, uint64(1))
	f.Add(whole[:len(whole)-5], uint64(2))
	f.Add(bytes.Join([][]byte{field(1000, nil), field(2, []byte("x")), field(1, path), field(2, nil), {9<<3 | 5, 1, 2, 3, 4}}, nil), uint64(3))
	f.Add(append(field(1000, []byte("one")), 0x1b, 0x1c), uint64(4))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, uint64(5))
	a := newArena(f)
	f.Fuzz(func(t *testing.T, raw []byte, cut uint64) {
		m := &incoming{}
		got, err := unmarshal(t, m, a, pieces(raw, cut))
		m.drop()
		if n := a.Stats().Blocks; n != 0 {
			t.Fatalf("%d bodies are live", n)
		}
		if err != nil && !errors.Is(err, errFlightData) {
			t.Fatalf("an error without a code: %v", err)
		}
		var want arrowflight.FlightData
		if wrong := proto.Unmarshal(raw, &want); wrong != nil {
			return
		}
		if err != nil {
			if !bytes.Contains([]byte(err.Error()), []byte("wire type")) {
				t.Fatalf("protobuf takes it, the codec says: %v", err)
			}
			return
		}
		if !bytes.Equal(got.header, want.DataHeader) || !bytes.Equal(got.body, want.DataBody) || got.hasDescriptor != (want.FlightDescriptor != nil) {
			t.Fatalf("header %q and body %q, want %q and %q", got.header, got.body, want.DataHeader, want.DataBody)
		}
		// Protobuf merges repeated messages, the codec keeps the last: no client sends two.
		if countDescriptors(raw) == 1 {
			var d arrowflight.FlightDescriptor
			if err := proto.Unmarshal(got.descriptor, &d); err != nil || !proto.Equal(&d, want.FlightDescriptor) {
				t.Fatalf("descriptor %v, want %v (%v)", &d, want.FlightDescriptor, err)
			}
		}
	})
}

// countDescriptors counts the descriptor fields of a valid message.
func countDescriptors(raw []byte) (n int) {
	for len(raw) > 0 {
		number, typ, size := protowire.ConsumeField(raw)
		if number == fieldDescriptor && typ == protowire.BytesType {
			n++
		}
		raw = raw[size:]
	}
	return n
}
