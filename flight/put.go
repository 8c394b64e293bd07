package flight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/proto"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/limits"
)

// DoPut takes one stream of record batches as a new generation of the dataset that its descriptor names.
//
// The descriptor comes with the first message that has one, with the schema or before it; later ones are passed over, as
// some clients repeat it. The schema comes before the first batch. Messages without a header carry application metadata
// only and are passed over. When the client half-closes, the generation is committed and one PutResult, with the
// generation's facts as JSON, goes out. Nothing of a put that ends in any other way is visible. A put within a transaction
// is not committed but kept for its commit; one whose put_id is known as committed is received and forgotten, and answered
// as the first was.
func (s *Server) DoPut(stream arrowflight.FlightService_DoPutServer) error {
	p := &put{server: s, stream: stream, call: callOf(stream.Context())}
	facts, err := p.run(stream.Context())
	if err != nil {
		if p.reading {
			s.drain(stream)
		}
		return inDataset(p.command.Dataset, err)
	}
	return stream.Send(&arrowflight.PutResult{AppMetadata: facts})
}

// put is one DoPut under way.
type put struct {
	server *Server
	stream arrowflight.FlightService_DoPutServer
	call   *call

	command descriptors.PutCommand
	known   bool // the descriptor has come
	schema  *arrowipc.Schema
	held    *batchstore.Schema // that schema
	commit  *catalog.Put
	ingest  *batchstore.Ingest
	claim   *batchstore.Claim // of the memory that the put takes
	share   *limits.Share     // of the quotas; nil: there are none, or the catalogue has it

	transaction *catalog.Transaction // nil: none
	named       *catalog.PutClaim    // of the put_id; nil: none
	before      []byte               // facts of the put of this put_id that was committed before; nil: none

	sortedBy []string // the order that rows are checked against
	rows     int64
	batches  int64 // received
	wire     int64 // bytes received
	reading  bool  // the client may still be sending
	putting  bool  // the dataset is marked as being put
}

// run receives the whole stream and commits it. It returns the facts of what was committed, not to be modified.
func (p *put) run(ctx context.Context) ([]byte, error) {
	defer func() { p.named.Abort() }() // does nothing once the put is done
	p.claim = p.server.store.PutClaim(ctx)
	defer p.claim.End()
	p.call.claim = p.claim
	defer func() { p.share.Release() }()
	defer func() {
		if p.putting {
			p.server.putting.add(p.call.dataset, -1)
		}
	}()
	in := &incoming{alloc: p.alloc}
	defer in.end()
	defer func() {
		if p.ingest != nil {
			p.ingest.Abort()
		}
		p.held.Release()
	}()
	p.reading = true
	for {
		err := p.stream.RecvMsg(in)
		if errors.Is(err, io.EOF) {
			p.reading = false
			return p.finish(ctx)
		}
		if err != nil {
			p.reading = false // the stream is broken: there is nothing to drain
			return nil, err
		}
		p.call.begins()
		p.wire += int64(in.size)
		p.call.bytes = p.wire
		if in.err != nil {
			return nil, in.err
		}
		if err := p.message(ctx, in); err != nil {
			return nil, err
		}
		if p.before != nil {
			return p.before, p.skip()
		}
	}
}

// alloc gives a received body its place in the store.
func (p *put) alloc(_ []byte, n int) (arena.Block, error) {
	if most := p.server.opts.MaxReceive; n > most {
		return arena.Block{}, fmt.Errorf("%w: a body of %d bytes, at most %d are taken (option --max-message); send smaller batches",
			errTooBig, n, most)
	}
	return p.claim.Alloc(n)
}

// message takes one received message.
func (p *put) message(ctx context.Context, in *incoming) error {
	if in.descriptor != nil && !p.known {
		if err := p.describe(ctx, in.descriptor, in.header); err != nil || p.before != nil {
			return err
		}
	}
	if len(in.header) == 0 {
		if in.hasBody {
			return fmt.Errorf("%w: a message with a body and no header", errStream)
		}
		return nil
	}
	m, err := arrowipc.ReadMessage(in.header, p.server.opts.Bounds.schema())
	if err != nil {
		return withOption(err)
	}
	switch {
	case !p.known:
		return fmt.Errorf("%w: the stream has no descriptor; put one with the schema, naming the dataset by path or command", errStream)
	case m.Type == arrowipc.HeaderSchema:
		return p.begin(in)
	case p.schema == nil:
		return fmt.Errorf("%w: the first message is no schema", errStream)
	case m.Type == arrowipc.HeaderRecordBatch:
		p.rows += m.Batch.Rows
		p.batches++
		return p.ingest.Add(ctx, m, in.takeBody())
	case m.Type == arrowipc.HeaderDictionaryBatch:
		return p.ingest.AddDictionary(ctx, m, in.takeBody())
	}
	return fmt.Errorf("%w: an IPC message of header type %d in a put", errStream, m.Type)
}

// describe reads the descriptor, of a message with this header.
func (p *put) describe(ctx context.Context, raw, header []byte) error {
	var d arrowflight.FlightDescriptor
	if err := proto.Unmarshal(raw, &d); err != nil {
		return fmt.Errorf("%w: its descriptor does not parse", errFlightData)
	}
	var err error
	switch d.Type {
	case arrowflight.DescriptorPATH:
		p.command, err = descriptors.PutFromPath(d.Path)
	case arrowflight.DescriptorCMD:
		p.command, err = descriptors.PutFromCommand(d.Cmd)
	default:
		err = fmt.Errorf("%w: descriptor of type %v; want PATH or CMD", descriptors.ErrBadCommand, d.Type)
	}
	p.known = err == nil
	p.call.dataset, p.call.transaction = string(p.command.Dataset), p.command.Transaction
	if err != nil {
		return err
	}
	if err := p.server.mayPut(p.call, p.call.dataset); err != nil {
		return err
	}
	p.call.puts = true
	if d := p.command.Durable; d != nil && *d && !p.server.catalog.Keeps() {
		return fmt.Errorf("%w: the put is to be durable; start the server with --data-dir, or leave durable out", catalog.ErrNotKept)
	}
	return p.identify(ctx, header)
}

// begin takes the schema, and refuses what must fail before the client has sent its data.
func (p *put) begin(in *incoming) error {
	if p.schema != nil {
		return fmt.Errorf("%w: a second schema; put each schema in a stream of its own", errStream)
	}
	var err error
	if p.held, err = p.server.store.Schema(p.claim, in.header); err != nil {
		return err
	}
	p.schema = p.held.Schema
	p.call.columns = len(p.schema.Layout.Columns)
	o := batchstore.IngestOptions{
		Codec: p.server.opts.Codec, Level: p.command.Level, KeepArriving: true,
		KeepBatches: p.command.Batching == descriptors.BatchingKeep, Claim: p.claim,
	}
	if p.command.Codec != "" {
		if o.Codec, err = compress.ParseCodec(string(p.command.Codec)); err != nil {
			return err
		}
		o.KeepArriving = false
	}
	o.Defer = cmp.Or(p.command.Encode, p.server.opts.Encode) == descriptors.EncodeDeferred
	o.DecodeDictionaries = p.command.Dictionaries == descriptors.DictionariesDecode
	p.server.putting.add(p.call.dataset, 1)
	p.putting = true
	p.beginShare()
	o.Kept = p.share.Grow
	if p.ingest, err = p.server.store.Ingest(p.schema, o); err != nil {
		return err
	}
	if p.transaction != nil {
		p.commit, err = p.transaction.Begin(p.ingest.Schema())
	} else {
		p.commit, err = p.server.catalog.Begin(string(p.command.Dataset), commitMode(p.command.Mode), p.ingest.Schema())
	}
	if err != nil {
		return err
	}
	p.commit.TTL, p.commit.Pin, p.commit.Durable = time.Duration(p.command.TTL)*time.Second, p.command.Pin, p.command.Durable
	p.commit.Held, p.commit.Charge = asHolder(p.ingest.Held()), charging(p.claim.Charge)
	p.commit.Ordered = p.command.SortedBy != nil
	if p.share != nil {
		p.commit.Share = p.share
	}
	return p.checkOrder()
}

// finish commits what has come.
func (p *put) finish(ctx context.Context) ([]byte, error) {
	if p.schema == nil {
		return nil, fmt.Errorf("%w: the stream ended before a schema; a put is a descriptor, a schema and any number of batches", errStream)
	}
	if want := p.command.Rows; want != nil && *want != p.rows {
		return nil, fmt.Errorf("%w: %d came, the command expects %d; nothing was stored", errRows, p.rows, *want)
	}
	batches, err := p.ingest.Finish(ctx)
	if err != nil {
		return nil, err
	}
	// A client that went away after its last message has not been told that it succeeded: nothing of it stays.
	stored := make([]catalog.Batch, len(batches))
	for i, b := range batches {
		stored[i] = b
	}
	err = context.Cause(ctx)
	var facts []byte
	if err == nil {
		facts, err = p.publish(ctx, stored)
	}
	if err != nil {
		for _, b := range batches {
			b.Release()
		}
		return nil, err
	}
	encoded, decoded := p.ingest.Work()
	p.call.rows = p.rows
	p.server.stats.both(string(p.command.Dataset), func(c *counts) {
		c.puts.Add(1)
		c.rowsIn.Add(p.rows)
		c.bytesIn.Add(p.wire)
		c.batchesReceived.Add(p.batches)
		c.bytesEncoded.Add(encoded)
		c.bytesDecoded.Add(decoded)
	})
	return facts, nil
}

// codec names the codec that the put asked for.
func (p *put) codec() string {
	if p.command.Codec != "" {
		return string(p.command.Codec)
	}
	return p.server.opts.Codec.String()
}

func commitMode(m descriptors.Mode) catalog.Mode {
	switch m {
	case descriptors.ModeAppend:
		return catalog.Append
	case descriptors.ModeCreate:
		return catalog.Create
	}
	return catalog.Replace
}
