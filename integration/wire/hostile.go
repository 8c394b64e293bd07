package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// hostiled is what hostile reports: first when all that it does has begun, and again at its end.
type hostiled struct {
	Open    int   `json:"open"`    // connections
	Refused int   `json:"refused"` // that could not be made
	Bytes   int64 `json:"bytes"`   // of noise that were sent
}

// hostile does to a server what broken and malicious clients do, until its input ends: it opens connections and leaves them, reads
// and does not take, puts and does not go on, or sends noise.
func hostile(arguments []string) (any, error) {
	flags := flag.NewFlagSet("hostile", flag.ContinueOnError)
	address := flags.String("address", "", "host and port")
	kind := flags.String("kind", "", "open, get, put or noise")
	count := flags.Int("count", 100, "connections; of noise, at once")
	ticket := flags.String("ticket", "", "what is read")
	seed := flags.Uint64("seed", 0, "of the noise")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	h := &attack{address: *address, ticket: *ticket}
	begin := map[string]func(net.Conn, int) error{"open": h.open, "get": h.get, "put": h.put}[*kind]
	switch {
	case begin != nil:
		for i := range *count {
			c, err := h.dial(*kind == "open" && i%4 == 2)
			if err == nil {
				err = begin(c, i)
				h.conns = append(h.conns, c)
			}
			if err != nil {
				h.report.Refused++
			}
		}
		h.report.Open = len(h.conns)
	case *kind == "noise":
		h.report.Open = *count
		for worker := range *count {
			h.noises.Go(func() { h.noise(rand.New(rand.NewPCG(*seed, uint64(worker)))) })
		}
	default:
		return nil, fmt.Errorf("%w: hostile --kind open|get|put|noise", errUsage)
	}
	if err := json.NewEncoder(os.Stdout).Encode(h.report); err != nil {
		return nil, err
	}
	untilInputEnds()
	h.over.Store(true)
	for _, c := range h.conns {
		_ = c.Close()
	}
	h.noises.Wait()
	h.report.Bytes = h.bytes.Load()
	return h.report, nil
}

type attack struct {
	address, ticket string
	conns           []net.Conn
	report          hostiled

	noises sync.WaitGroup
	over   atomic.Bool
	bytes  atomic.Int64
}

// dialTime bounds the making of a connection.
const dialTime = 20 * time.Second

// dial makes a connection; a raw one has no TLS, whatever the server has.
func (h *attack) dial(raw bool) (net.Conn, error) {
	if raw {
		return net.DialTimeout("tcp", target(h.address), dialTime)
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	return dial(ctx, h.address)
}

// open leaves a connection as it is, or after its greeting.
func (h *attack) open(c net.Conn, i int) error {
	if i%2 == 0 {
		return nil
	}
	_, err := greet(c)
	return err
}

// greet begins HTTP/2 and lets the server do as it wants.
func greet(c net.Conn) (*http2.Framer, error) {
	f := http2.NewFramer(c, c)
	_, err := c.Write([]byte(http2.ClientPreface))
	return f, errors.Join(err, f.WriteSettings(), f.WriteSettingsAck())
}

// beginCall begins a call of Flight's.
func beginCall(f *http2.Framer, method string) error {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	fields := [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/arrow.flight.protocol.FlightService/" + method},
		{":authority", "test"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	}
	if token := os.Getenv(tokenVariable); token != "" {
		fields = append(fields, [2]string{"authorization", "Bearer " + token})
	}
	for _, x := range fields {
		if err := e.WriteField(hpack.HeaderField{Name: x[0], Value: x[1]}); err != nil {
			return err
		}
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
}

// sendPart sends a message of the call as far as so many bytes; 0 is all.
func sendPart(f *http2.Framer, m proto.Message, most int, last bool) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	framed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	if most > 0 {
		framed = framed[:min(most, len(framed))]
	}
	return f.WriteData(1, last, framed)
}

// get begins a read and takes nothing: of every second one not even from the socket, of the others what comes without a window.
func (h *attack) get(c net.Conn, i int) error {
	f, err := greet(c)
	if err := errors.Join(err, beginCall(f, "DoGet"), sendPart(f, &flight.Ticket{Ticket: []byte(h.ticket)}, 0, true)); err != nil {
		return err
	}
	if i%2 == 1 {
		go func() {
			for {
				if _, err := f.ReadFrame(); err != nil {
					return
				}
			}
		}()
	}
	return nil
}

// put begins a put and stands still: after its schema, or amid a message.
func (h *attack) put(c net.Conn, i int) error {
	f, err := greet(c)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	first := &flight.FlightData{
		FlightDescriptor: &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"stalled", fmt.Sprint(i)}},
		DataHeader:       flight.SerializeSchema(schema, memory.DefaultAllocator)[8:],
	}
	if err := errors.Join(err, beginCall(f, "DoPut"), sendPart(f, first, 0, false)); err != nil {
		return err
	}
	if i%2 == 1 {
		return sendPart(f, &flight.FlightData{DataBody: make([]byte, 100_000)}, 16_000, false)
	}
	return nil
}

// noise sends random bytes over one connection after the other: as they are, after a greeting, or as frames. Where the server has TLS, a
// half of it goes past that.
func (h *attack) noise(random *rand.Rand) {
	for !h.over.Load() {
		c, err := h.dial(random.IntN(2) == 0)
		if err != nil {
			continue
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		f := http2.NewFramer(c, c)
		kind := random.IntN(3)
		if kind > 0 {
			if f, err = greet(c); err != nil {
				_ = c.Close()
				continue
			}
		}
		for range random.IntN(50) {
			p := make([]byte, random.IntN(5000))
			for i := range p {
				p[i] = byte(random.Uint32())
			}
			if kind == 2 {
				err = f.WriteRawFrame(http2.FrameType(random.IntN(12)), http2.Flags(random.IntN(256)), uint32(random.IntN(7)), p)
			} else {
				_, err = c.Write(p)
			}
			if err != nil {
				break
			}
			h.bytes.Add(int64(len(p)))
		}
		_ = c.Close()
	}
}
