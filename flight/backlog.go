package flight

import (
	"context"
	"sync"
)

// backlog is datasets that wait for something to be done to them in the background, without repetition, by one goroutine that
// ends when none is left.
type backlog struct {
	work func(ctx context.Context, dataset string)

	ctx    context.Context // of what goes on in the background
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex // guards what follows; nothing else is locked under it
	queue  []string
	queued map[string]bool
	runs   bool // the goroutine
	closed bool
}

// open prepares for work on one dataset at a time.
func (b *backlog) open(work func(context.Context, string)) {
	b.work, b.queued = work, map[string]bool{}
	b.ctx, b.cancel = context.WithCancel(context.Background())
}

// add has a dataset wait, unless it does.
func (b *backlog) add(dataset string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.queued[dataset] {
		return
	}
	b.queued[dataset] = true
	b.queue = append(b.queue, dataset)
	if !b.runs {
		b.runs = true
		b.done.Go(b.run)
	}
}

// next takes the dataset that has waited longest, or ends the goroutine.
func (b *backlog) next() (dataset string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		b.runs = false
		return "", false
	}
	dataset, b.queue = b.queue[0], b.queue[1:]
	delete(b.queued, dataset) // what comes from here on is looked at again
	return dataset, true
}

func (b *backlog) run() {
	for {
		dataset, ok := b.next()
		if !ok {
			return
		}
		b.work(b.ctx, dataset)
	}
}

// close ends what goes on, and waits for that; a second call does nothing.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed, b.queue = true, nil
	b.mu.Unlock()
	b.cancel()
	b.done.Wait()
}
