package flight

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/batchstore/segment"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/catalog/journal"
)

// recovered is what a file of the store was found to have.
type recovered struct {
	schema  *arrowipc.Schema
	batches []*batchstore.Batch // one reference to each; nil where one is damaged
	err     error               // why there are none, or some are damaged
}

// forgetAtOnce is how many expired datasets are forgotten at a time: they share the disk's work.
const forgetAtOnce = 256

// Restore publishes the datasets of the last run in the catalogue, which has none yet, and makes its durable puts known. Then
// files that no dataset needs are removed, and so is what a crash left half-written. Only metadata is read: the time does not
// grow with the data. Batches in files that are damaged or missing are logged; reading them will be an error, and everything
// else is there. An error is one of the start: the folder or the journal cannot be used as it is, or the metadata need more
// memory than the store has. It is called once.
func (d *Durable) Restore(c *catalog.Catalog) (err error) {
	began := time.Now()
	kept := d.kept
	d.kept = nil
	if kept.FellBack {
		d.log.Warn("the durable catalogue has a damaged page: what it says may lack the last change; no files are removed")
	}
	live := d.forgetExpired(kept.Datasets, began)
	needed := map[string]bool{}
	for i := range live {
		for _, run := range live[i].Runs {
			needed[run.Segment] = true
		}
	}
	d.store.KeepFiles(true) // whatever comes now: no file goes because it was not taken up
	found, err := d.recover(slices.Sorted(maps.Keys(needed)))
	defer func() {
		for _, f := range found {
			f.release()
		}
		d.store.KeepFiles(err != nil) // a start that fails lets go of what it has
	}()
	if err != nil {
		return err
	}
	batches, lost := 0, 0
	for i := range live {
		var n, bad int
		if n, bad, err = d.restore(c, &live[i], found); err != nil {
			return fmt.Errorf("dataset %q: %w", live[i].Name, err)
		}
		batches, lost = batches+n, lost+bad
	}
	c.RestorePuts(putsOf(kept.Puts))
	swept, err := d.store.Sweep(func(name string) bool {
		return needed[name] || kept.FellBack && !strings.HasSuffix(name, segment.TemporarySuffix)
	})
	if err != nil {
		return err
	}
	d.log.Info("restored durable datasets", zap.Int("datasets", len(live)), zap.Int("batches", batches), zap.Int("lost_batches", lost),
		zap.Int("files", len(needed)), zap.Int("files_removed", swept), zap.Duration("took", time.Since(began)))
	return nil
}

// forgetExpired removes the records of datasets whose time is over and gives the others. A record that cannot be removed, as on
// a full disk, is one of the next start: its time will be over then too.
func (d *Durable) forgetExpired(all []journal.Dataset, now time.Time) (live []journal.Dataset) {
	var expired errgroup.Group
	expired.SetLimit(forgetAtOnce)
	for _, r := range all {
		if r.Expires.IsZero() || r.Expires.After(now) {
			live = append(live, r)
			continue
		}
		expired.Go(func() error { return d.journal.Delete(r.Name) })
	}
	if err := expired.Wait(); err != nil {
		d.log.Warn("not every record of a dataset whose time is over was removed", zap.Error(err))
	}
	return live
}

// recover reads the metadata of files. What is damaged is no error of this.
func (d *Durable) recover(names []string) (map[string]*recovered, error) {
	found := make(map[string]*recovered, len(names))
	var work errgroup.Group
	work.SetLimit(2 * runtime.GOMAXPROCS(0)) // some wait for the disk
	for _, name := range names {
		r := &recovered{}
		found[name] = r
		work.Go(func() error {
			r.schema, r.batches, r.err = d.store.Recover(name)
			if r.err == nil || errors.Is(r.err, segment.ErrDamaged) || errors.Is(r.err, segment.ErrUnsupported) || errors.Is(r.err, syscall.EIO) {
				return nil
			}
			if errors.Is(r.err, batchstore.ErrMemory) {
				return fmt.Errorf("the metadata of durable datasets need more memory (option --memory); nothing was removed: %w", r.err)
			}
			return r.err
		})
	}
	return found, work.Wait()
}

func (f *recovered) release() {
	for _, b := range f.batches {
		if b != nil {
			b.Release()
		}
	}
}

// restore publishes one dataset and tells how many batches it has, and how many of these are lost.
func (d *Durable) restore(c *catalog.Catalog, r *journal.Dataset, found map[string]*recovered) (n, bad int, err error) {
	held, err := d.store.Schema(nil, r.Schema)
	if err != nil {
		return 0, 0, fmt.Errorf("its schema in the durable catalogue: %w", err)
	}
	defer held.Release()
	schema := held.Schema
	sorted, err := order(schema, r)
	if err != nil {
		return 0, 0, err
	}
	var batches []catalog.Batch
	for _, run := range r.Runs {
		list, lost := found[run.Segment].run(run, schema)
		if lost != nil {
			d.log.Error("batches are lost", zap.String("dataset", r.Name), zap.String("file", run.Segment), zap.Error(lost))
		}
		batches = append(batches, list...)
	}
	for _, b := range batches {
		if _, lost := b.(*lostBatch); lost {
			bad++
			sorted = nil // it says where to look by the values of all batches
		}
	}
	dropped := r.OrderDropped || r.SortedBy != nil && sorted == nil
	err = c.Restore(catalog.Restored{
		Dataset: r.Name, ID: r.Generation, Schema: schema, Codec: r.Codec, Created: r.Created, Expires: r.Expires, Pinned: r.Pinned,
		Order: sorted, OrderDropped: dropped, Held: held,
	}, batches)
	if err != nil {
		for _, b := range batches {
			b.Release()
		}
	}
	return len(batches), bad, err
}

// run gives the batches of a run, the caller's to release. In the place of those that are not what the record says stand lost
// ones; then the error is why.
func (f *recovered) run(run journal.Run, s *arrowipc.Schema) (out []catalog.Batch, lost error) {
	whole, why := f.found(run, s)
	rows, missing := run.Rows, 0
	for _, b := range whole {
		if b != nil {
			rows -= b.Rows()
		} else {
			missing++
		}
	}
	if rows < 0 || missing == 0 && rows > 0 {
		why = fmt.Errorf("%w: %s does not have the rows that were put", segment.ErrDamaged, run.Segment)
		clear(whole)
		rows, missing = run.Rows, run.Count
	}
	for i, b := range whole {
		if b != nil {
			b.Retain()
			out = append(out, b)
			continue
		}
		share := rows / int64(missing) // of each only the sum is known
		out = append(out, &lostBatch{batchstore.Place{Segment: run.Segment, Index: run.First + i}, share, why})
		rows, missing, lost = rows-share, missing-1, why
	}
	return out, lost
}

// found gives the batches of a run as they were found, nil where there is none; then the error is why.
func (f *recovered) found(run journal.Run, s *arrowipc.Schema) ([]*batchstore.Batch, error) {
	out := make([]*batchstore.Batch, run.Count)
	if f.batches == nil && f.err != nil {
		return out, f.err
	}
	if run.First+run.Count > len(f.batches) {
		return out, fmt.Errorf("%w: %s has %d batches, not %d", segment.ErrDamaged, run.Segment, len(f.batches), run.First+run.Count)
	}
	if diff := s.Diff(f.schema); diff != "" {
		return out, fmt.Errorf("%w: %s has another schema: %s", segment.ErrDamaged, run.Segment, diff)
	}
	copy(out, f.batches[run.First:])
	return out, f.err
}

func putsOf(puts []journal.Put) []catalog.KeptPut {
	out := make([]catalog.KeptPut, 0, len(puts))
	for _, p := range puts {
		out = append(out, catalog.KeptPut{Name: p.Name, At: p.At, Facts: p.Facts, What: p.What})
	}
	return out
}
