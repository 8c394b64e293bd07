package journal

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// groupBytes and groupChanges bound what is written at once.
const (
	groupBytes   = 16 << 20
	groupChanges = 1000
)

// change is one change that waits to be written.
type change struct {
	name   []byte
	record []byte // nil: the dataset's is removed
	put    *Put   // nil: none

	err  error
	turn chan bool // true: it is this one's turn to write for all; false: err is the outcome
}

// Write keeps a dataset's record in the place of the one before, and with it the put that made it, if there is one. It
// returns when the disk has them. ErrFull, ErrDoubt, ErrTooLarge, ErrDamaged, ErrClosed.
func (j *Journal) Write(d *Dataset, p *Put) error {
	record, err := encodeDataset(d)
	if err == nil && p != nil {
		_, err = encodePut(make([]byte, 8), p) // its key is known later only, but not too late to be refused
	}
	if err != nil {
		return fmt.Errorf("dataset %q: %w", d.Name, err)
	}
	return j.submit(&change{name: []byte(d.Name), record: record, put: p})
}

// Delete removes a dataset's record, if there is one. It returns when the disk has it so. Errors as of Write.
func (j *Journal) Delete(name string) error { return j.submit(&change{name: []byte(name)}) }

// submit has a change written, by this goroutine or by another one, and waits for it.
func (j *Journal) submit(c *change) error {
	c.turn = make(chan bool, 1)
	j.mu.Lock()
	if err := j.failed; err != nil {
		j.mu.Unlock()
		return j.named(err)
	}
	j.queue = append(j.queue, c)
	lead := !j.leading
	j.leading = true
	j.mu.Unlock()
	if lead || <-c.turn {
		j.lead(c)
	}
	if c.err != nil {
		return j.named(c.err)
	}
	return nil
}

// lead writes what waits, of which own is the first, tells those whose changes it wrote, and gives the lead to the next.
func (j *Journal) lead(own *change) {
	j.mu.Lock()
	n, size := 0, 0
	for n < len(j.queue) && n < groupChanges && (n == 0 || size < groupBytes) {
		size += len(j.queue[n].record)
		if p := j.queue[n].put; p != nil {
			size += len(p.Facts)
		}
		n++
	}
	group := j.queue[:n:n]
	j.queue = j.queue[n:]
	j.mu.Unlock()

	j.write(group)

	for _, c := range group {
		if c != own {
			c.turn <- false
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) == 0 {
		j.queue, j.leading = nil, false
		return
	}
	j.queue[0].turn <- true
}

// write writes a group of changes and sets their errors. If together they fail, each is tried alone: one may be too much
// for the disk where the others are not.
func (j *Journal) write(group []*change) {
	err := j.transact(group)
	if err == nil {
		return
	}
	if len(group) > 1 && j.stuck() == nil {
		for i := range group {
			j.write(group[i : i+1])
		}
		return
	}
	for _, c := range group {
		c.err = err
	}
	if len(group) == 1 && group[0].record == nil && full(err) && j.reserve.free() {
		group[0].err = j.transact(group)
	}
}

func (j *Journal) stuck() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// transact writes changes in one transaction. On an error nothing has changed but where it is ErrDoubt.
func (j *Journal) transact(group []*change) error {
	if err := j.stuck(); err != nil {
		return err
	}
	err, fell := guard(func() error { return j.apply(group) })
	if fell {
		// bbolt may have its locks still: nothing can be asked of it any more.
		j.mu.Lock()
		j.failed = fmt.Errorf("%w; restart the server", err)
		j.mu.Unlock()
		return err
	}
	if err == nil && j.reserve.gone {
		j.reserve.fill()
	}
	return err
}

func (j *Journal) apply(group []*change) error {
	back, reached, err := j.attempt(group)
	if err == nil {
		j.doubt = nil
	}
	if !reached || err == nil {
		return err
	}
	// The change is written, and only whether the disk has it is open. Taking it back settles that.
	j.doubt = back.with(j.doubt)
	if _, _, again := j.attempt(nil); again != nil {
		return fmt.Errorf("%w: %w", ErrDoubt, err)
	}
	j.doubt = nil
	return err
}

// attempt commits one transaction: it takes back what is in doubt, and then makes the changes. It gives what takes these
// back. Where it fails, reached tells whether the file, as the system shows it, has the changes all the same.
func (j *Journal) attempt(group []*change) (back undo, reached bool, err error) {
	tx, err := j.db.Begin(true)
	if err != nil {
		return nil, false, err
	}
	t := &transaction{j: j, tx: tx, digest: j.digest}
	if err := t.apply(group); err != nil {
		return nil, false, errors.Join(err, tx.Rollback())
	}
	id := tx.ID()
	err = j.commit(tx)
	j.mu.Lock()
	j.commits++
	j.mu.Unlock()
	if reached = err == nil || j.reached(id); reached {
		j.digest = t.digest
	}
	return t.back, reached, err
}

// reached tells whether the file, as the system has it, is of this transaction or a later one.
func (j *Journal) reached(id int) bool {
	now := 0
	err := j.db.View(func(tx *bbolt.Tx) error {
		now = tx.ID()
		return nil
	})
	return err != nil || now >= id
}
