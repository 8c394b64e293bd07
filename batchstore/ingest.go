package batchstore

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore/arena"
	"github.com/flightcache/flightcache/compress"
)

// IngestOptions says how one put's batches are to be stored.
type IngestOptions struct {
	Codec compress.Codec
	Level int // zstd level; 0 is the store's
	// KeepArriving lets a batch that arrives compressed keep its bytes whatever its codec. Without it only a batch
	// that arrives under Codec does.
	KeepArriving bool
	// KeepBatches never joins and never compacts dictionaries: received batches stay apart, and are cut only where they
	// are too large.
	KeepBatches bool
	// DecodeDictionaries stores values in place of indices. The put's batches then have the schema without dictionaries.
	DecodeDictionaries bool
	// Defer keeps batches plain that would be encoded under Codec, to be encoded later (see [Store.Encode]), unless memory is
	// short. Dictionaries are encoded at once.
	Defer bool
	// Kept is told of n more bytes of stored batches; an error fails the put with it. Workers call it. Nil: nobody is told.
	Kept func(n int64) error
	// Claim is what the put is charged to, a put's; it outlives the ingest. Nil: nobody's, and nothing waits for room.
	Claim *Claim
}

// Ingest turns the batches of one put into stored ones. It belongs to one goroutine. Every Ingest ends with Abort, also after
// Finish: it then gives back the schema only.
type Ingest struct {
	store    *Store
	layout   *arrowipc.Layout // of the batches that come
	schema   *arrowipc.Schema // of the batches that are kept
	held     *Schema          // the same, if the store keeps it
	stored   *arrowipc.Layout // and its layout
	opts     IngestOptions
	dicts    *dictionaries // nil if the schema has none
	measurer *measurer

	received int   // record batches so far, for messages
	most     int64 // bytes of a stored body
	pending  []*arrival
	rows     int64 // of pending
	bytes    int64 // of pending, decoded

	ahead   chan struct{} // one slot for each group on its way through the workers
	running sync.WaitGroup
	groups  []*group
	failed  atomic.Int64 // the lowest group that has failed, or noGroup: later ones need not be done

	staging *staging // nil for a store without files

	submitted int64 // rows of all groups
	keys      []OrderKey
	optional  bool
	order     *Order // after Finish

	hurried          atomic.Bool  // memory was short: nothing more is deferred
	encoded, decoded atomic.Int64 // plain bytes that were encoded, and that compressed batches decoded to
	over             bool
}

// arrival is one received batch. It owns its body until it is freed.
type arrival struct {
	index    int     // among the put's batches
	limits   []int64 // by dictionary: the values that there were when it came
	header   *arrowipc.RecordBatch
	metadata []arrowipc.KeyValue
	body     arena.Block
	decoded  int64 // bytes of its buffers when decoded, as declared
}

func (s *arrival) free() { Free(&s.body) }

// noGroup is more than any group's number.
const noGroup = math.MaxInt64

// group is one unit of work: sources that become stored batches together, in order.
type group struct {
	sources []*arrival
	chains  []*chain                    // the dictionaries of its sources
	values  map[int64]*dictionaryValues // and their values
	decode  map[int64]*dictionaryValues // those of them that are to be decoded
	batches []*Batch
	err     error

	made     []*Batch // that staging has not put into a lot; guarded by its mutex, as is finished
	finished bool

	at        int64 // the number of its first row among the put's
	edges     edges // with an order: its first and last rows
	unordered bool  // it was found not to be in the order
}

// Ingest begins a put of batches of this schema. The error is arrowipc.ErrLimit, and only where dictionaries are to be
// decoded and the schema without them is over a limit.
func (s *Store) Ingest(schema *arrowipc.Schema, o IngestOptions) (*Ingest, error) {
	kept, held := schema, s.Hold(schema)
	if o.DecodeDictionaries {
		var err error
		if kept, err = schema.WithoutDictionaries(func(int64) bool { return true }); err != nil {
			held.Release()
			return nil, err
		}
		if held != nil && kept != schema {
			held.Release()
			if held, err = s.made(o.Claim, kept); err != nil {
				return nil, err
			}
			kept = held.Schema
		}
	}
	in := &Ingest{
		store: s, layout: schema.Layout, schema: kept, stored: kept.Layout, measurer: newMeasurer(kept.Layout), opts: o, dicts: newDictionaries(s, schema.Layout, o),
		most: s.storedLimit(kept.Layout),
		// Enough that the workers never wait for the receiver, few enough that a put stages little.
		ahead: make(chan struct{}, s.opts.Workers+2),
	}
	in.failed.Store(noGroup)
	in.held = held
	return in, s.files.stage(in)
}

// Schema is the schema of the batches that are kept.
func (in *Ingest) Schema() *arrowipc.Schema { return in.schema }

// Held is the reference that the ingest has to that schema until Abort; nil where the store does not keep it.
func (in *Ingest) Held() *Schema { return in.held }

// Add takes one record batch, header and body; the body is the ingest's from here on, whatever is returned. It returns
// once the batch is checked as far as its header goes and the work is queued; what is wrong with the body is reported by
// a later Add or by Finish. Errors are ErrInvalidBatch and those of arrowipc, naming the batch by its number from 0, or
// the context's.
func (in *Ingest) Add(ctx context.Context, m *arrowipc.Message, body arena.Block) error {
	src := &arrival{index: in.received, header: m.Batch, metadata: m.Metadata, body: body}
	in.received++
	if in.failed.Load() != noGroup {
		src.free()
		return in.firstError()
	}
	err := in.store.admit(in.layout, src, m)
	if err == nil && src.header.Rows > 0 {
		src.limits, err = in.dicts.limits()
	}
	if err != nil {
		src.free()
		return batchError(src.index, err)
	}
	if src.header.Rows == 0 { // accepted, and nothing to keep
		src.free()
		return nil
	}
	if in.opts.KeepBatches || len(src.metadata) > 0 || src.decoded >= in.store.opts.JoinBelow {
		if err := in.flush(ctx); err != nil {
			src.free()
			return err
		}
		return in.submit(ctx, []*arrival{src})
	}
	// A joined batch should be sent plain to any client without being cut again.
	if in.rows+src.header.Rows > in.store.opts.MaxBatchRows || in.bytes+src.decoded > in.most {
		if err := in.flush(ctx); err != nil {
			src.free()
			return err
		}
	}
	in.pending = append(in.pending, src)
	in.rows += src.header.Rows
	in.bytes += src.decoded
	return nil
}

// admit checks what the header says against the layout, the body and the limits. A header of metadata version V4 is
// made one of V5.
func (s *Store) admit(l *arrowipc.Layout, src *arrival, m *arrowipc.Message) error {
	if got := int64(len(src.body.B)); got < m.BodyLength {
		return fmt.Errorf("%w: the header says a body of %d bytes, %d came", ErrInvalidBatch, m.BodyLength, got)
	}
	if m.Version == arrowipc.VersionV4 {
		if err := l.Upgrade(src.header); err != nil {
			return err
		}
	}
	if err := checkCounts(l, src.header); err != nil {
		return err
	}
	if src.header.Rows > MaxRows {
		return fmt.Errorf("%w: %d rows, at most %d are taken; send smaller batches", ErrTooLarge, src.header.Rows, int64(MaxRows))
	}
	for i, b := range src.header.Buffers {
		n := b.Length
		if src.header.Compression != arrowipc.Uncompressed {
			var err error
			n, err = compress.DecodedLen(src.body.B[b.Offset:b.Offset+b.Length], compress.Codec(src.header.Compression))
			if err != nil {
				return fmt.Errorf("%w: buffer %d: %w", ErrInvalidBatch, i, err)
			}
		}
		if n > s.opts.MaxDecoded-src.decoded {
			return fmt.Errorf("%w: it would decode to more than %d bytes; send smaller batches", ErrTooLarge, s.opts.MaxDecoded)
		}
		src.decoded += n
	}
	return nil
}

// flush submits the batches that wait to be joined.
func (in *Ingest) flush(ctx context.Context) error {
	if len(in.pending) == 0 {
		return nil
	}
	sources := in.pending
	in.pending, in.rows, in.bytes = nil, 0, 0
	return in.submit(ctx, sources)
}

// submit queues a group. It waits while too much of this put is on its way already.
func (in *Ingest) submit(ctx context.Context, sources []*arrival) error {
	g := &group{sources: sources, chains: in.dicts.snapshot()}
	g.values = in.dicts.values()
	if in.opts.DecodeDictionaries {
		g.decode = g.values
	}
	if err := in.place(ctx); err != nil {
		g.free()
		return err
	}
	need := in.need(sources)
	if err := in.store.budget.begin(ctx, in.opts.Claim, need); err != nil {
		g.free()
		<-in.ahead
		return err
	}
	number := int64(len(in.groups))
	g.at = in.submitted
	for _, src := range sources {
		in.submitted += src.header.Rows
	}
	in.groups = append(in.groups, g)
	in.staging.begin(g)
	in.running.Add(1)
	in.count(1)
	job := func() {
		defer in.running.Done()
		defer func() {
			in.count(-1)
			<-in.ahead
		}()
		defer in.store.budget.done(in.opts.Claim, need)
		defer g.free()
		if number > in.failed.Load() {
			return
		}
		defer func() {
			if p := recover(); p != nil { // a fault of ours: it must not end the process
				g.err = fmt.Errorf("%w: %v", errPanic, p)
				in.store.opts.Panic(p, debug.Stack())
			}
			if g.err != nil {
				in.fail(number)
			}
		}()
		if g.batches, g.err = in.encode(g); g.err == nil {
			in.staging.finished(g)
			g.err = in.kept(g)
		}
	}
	select {
	case in.crew().jobs <- job:
		return nil
	case <-ctx.Done():
		g.free()
		in.store.budget.done(in.opts.Claim, need)
		<-in.ahead
		in.count(-1)
		in.running.Done()
		return context.Cause(ctx)
	}
}

// kept tells of what a group has become.
func (in *Ingest) kept(g *group) error {
	if in.opts.Kept == nil {
		return nil
	}
	n := int64(0)
	for _, b := range g.batches {
		n += b.StoredBytes()
	}
	return in.opts.Kept(n)
}

// fail notes that a group has failed.
func (in *Ingest) fail(number int64) {
	for {
		old := in.failed.Load()
		if old <= number || in.failed.CompareAndSwap(old, number) {
			return
		}
	}
}

func (g *group) free() {
	for _, s := range g.sources {
		s.free()
	}
	g.sources = nil
}

// Finish waits for all work and gives the stored batches in order; the caller owns one reference to each. On an error
// everything has been given back.
func (in *Ingest) Finish(ctx context.Context) ([]*Batch, error) {
	err := in.flush(ctx)
	in.join()
	if err == nil {
		err = in.firstError()
	}
	if err == nil {
		err = in.finishOrder()
	}
	if err == nil && !in.opts.DecodeDictionaries {
		err = in.dicts.close(in)
	}
	if err != nil {
		in.Abort()
		return nil, err
	}
	var out []*Batch
	for _, g := range in.groups {
		out = append(out, g.batches...)
	}
	if err := in.staging.end(in, out); err != nil {
		in.Abort()
		return nil, err
	}
	in.over = true
	in.dicts.free()
	for _, b := range out {
		if mem := b.mem.Load(); mem != nil && mem.hold() { // it is not the put's any more
			mem.block.Move(nil)
			mem.Release()
		}
	}
	return out, nil
}

// Work says how many plain bytes the put has encoded so far, and how many the batches that arrived compressed were decoded
// to.
func (in *Ingest) Work() (encoded, decoded int64) { return in.encoded.Load(), in.decoded.Load() }

// Abort gives back all that the put has taken so far. It may be called more than once.
func (in *Ingest) Abort() {
	defer func() {
		in.held.Release()
		in.held = nil
	}()
	if in.over {
		return
	}
	in.over = true
	in.fail(-1) // what is queued need not be done
	if c := in.opts.Claim; c != nil {
		c.cancel(context.Canceled) // nor what waits for memory
	}
	in.running.Wait()
	in.staging.abort(in)
	for _, s := range in.pending {
		s.free()
	}
	for _, g := range in.groups {
		for _, b := range g.batches {
			b.Release()
		}
	}
	in.dicts.free()
	in.pending, in.groups = nil, nil
}

// firstError is the error of the earliest batch that failed, as far as is known. It waits for the groups under way:
// which of them fails first is chance, which batch is named should not be.
func (in *Ingest) firstError() error {
	in.join()
	for _, g := range in.groups {
		if g.err != nil {
			return g.err
		}
	}
	return nil
}

func batchError(index int, err error) error { return fmt.Errorf("record batch %d: %w", index, err) }
