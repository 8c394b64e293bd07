package flight

import (
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/catalog/journal"
)

// Durable keeps datasets in files: their batches in those of the store, and what they are in a journal. It is the Keeper of the
// catalogue, and fills that one when the server starts. It is safe for concurrent use.
type Durable struct {
	store   segments
	limits  arrowipc.Limits
	journal records
	kept    *journal.Contents // of the last run, until it is restored
	log     *zap.Logger

	mu    sync.Mutex // no other lock is taken under it
	doubt []*batchstore.Batch
}

// segments are what a store does with files.
type segments interface {
	Persist(schema *arrowipc.Schema, batches []*batchstore.Batch) ([]batchstore.Place, error)
	Recover(segment string) (*arrowipc.Schema, []*batchstore.Batch, error)
	Schema(c *batchstore.Claim, header []byte) (*batchstore.Schema, error)
	Sweep(keep func(segment string) bool) (removed int, err error)
	KeepFiles(keep bool)
}

// records are what a journal does.
type records interface {
	Write(*journal.Dataset, *journal.Put) error
	Delete(dataset string) error
	Close() error
}

// OpenDurable opens the journal in a file, which is made if it is absent. The store has a folder, and stays the caller's, who
// closes what this gives before it. Errors are those of journal.Open. A nil log is told nothing.
func OpenDurable(store *batchstore.Store, path string, log *zap.Logger) (*Durable, error) {
	if log == nil {
		log = zap.NewNop()
	}
	j, kept, err := journal.Open(path, journal.Options{})
	if err != nil {
		return nil, err
	}
	return &Durable{store: store, limits: store.Limits(), journal: j, kept: kept, log: log}, nil
}

// Close closes the journal. No change of a durable dataset is under way.
func (d *Durable) Close() error {
	d.settle()
	return d.journal.Close()
}

// Keep writes the batches of a generation that lie in no file yet, and then its record. It returns when the disk has both.
// Errors are those of the store's files and of the journal.
func (d *Durable) Keep(k catalog.Kept) error {
	g := k.Generation
	record, batches, err := d.record(k)
	if err == nil {
		var put *journal.Put
		if k.Put != nil {
			put = &journal.Put{Name: k.Put.Name, At: k.Put.At, Facts: k.Put.Facts, What: k.Put.What}
		}
		err = d.journal.Write(record, put)
	}
	if err == nil {
		d.settle()
		return nil
	}
	if errors.Is(err, journal.ErrDoubt) {
		// A start after a crash may find this generation, and then needs its files.
		d.mu.Lock()
		for _, b := range batches {
			b.Retain()
			d.doubt = append(d.doubt, b)
		}
		d.mu.Unlock()
	}
	return fmt.Errorf("dataset %q is not made durable: %w", g.Dataset, err)
}

// Forget removes a dataset's record.
func (d *Durable) Forget(dataset string) error {
	if err := d.journal.Delete(dataset); err != nil {
		return fmt.Errorf("dataset %q is durable and stays so: %w", dataset, err)
	}
	d.settle()
	return nil
}

// settle lets go of what was in doubt: the change that succeeded last has settled it.
func (d *Durable) settle() {
	d.mu.Lock()
	doubt := d.doubt
	d.doubt = nil
	d.mu.Unlock()
	for _, b := range doubt {
		b.Release()
	}
}
