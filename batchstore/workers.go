package batchstore

import "github.com/flightcache/flightcache/compress"

// crew is one kind of work and the workers that do it.
//
// Under the high levels of Zstandard a batch takes ten times as long as otherwise, and a second if it is large. So these levels
// have workers of their own, as many again: a put that needs little does not wait behind the seconds of others, and the scheduler
// of goroutines shares the cores between both. Either kind alone has all cores.
type crew struct {
	jobs  chan func()
	later chan func() // what is done when there are no jobs
}

func newCrew() crew { return crew{make(chan func()), make(chan func())} }

// run is a worker. What can be done later is begun only while no job waits. It ends when jobs is closed.
func (c crew) run() {
	for {
		select {
		case job, open := <-c.jobs:
			if !open {
				return
			}
			job()
			continue
		default:
		}
		select {
		case job, open := <-c.jobs:
			if !open {
				return
			}
			job()
		case job := <-c.later:
			job()
		}
	}
}

// crew is where batches are encoded under a codec and level.
func (s *Store) crew(c compress.Codec, level int) crew {
	if s.codecs.Slow(c, level) {
		return s.slow
	}
	return s.quick
}

// crew is where the next group is to be worked on.
func (in *Ingest) crew() crew {
	if in.defers() {
		return in.store.quick
	}
	return in.store.crew(in.opts.Codec, in.opts.Level)
}
