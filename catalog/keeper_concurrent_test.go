package catalog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowKeeper takes its time, fails at times, and objects to two calls at a time for one dataset.
type slowKeeper struct {
	*fakeKeeper
	t    *testing.T
	busy sync.Map
}

func (k *slowKeeper) slowly(name string, f func() error) error {
	if _, twice := k.busy.LoadOrStore(name, true); twice {
		k.t.Errorf("two calls at a time for %q", name)
	}
	defer k.busy.Delete(name)
	time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
	if rand.IntN(4) == 0 {
		return errKeeper
	}
	return f()
}

func (k *slowKeeper) Keep(what Kept) error {
	return k.slowly(what.Generation.Dataset, func() error { return k.fakeKeeper.Keep(what) })
}

func (k *slowKeeper) Forget(name string) error {
	return k.slowly(name, func() error { return k.fakeKeeper.Forget(name) })
}

// Everything at once, on a keeper that is slow and fails: in the end, what is kept is what is there, and nothing is held.
func TestConcurrentKeeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &slowKeeper{fakeKeeper: newKeeper(), t: t}
		c, schema := New(Options{Keeper: k}), flat(t)
		var mu sync.Mutex
		var all []*fakeBatch
		var work sync.WaitGroup
		for w := range 8 {
			work.Go(func() {
				for i := range 100 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(20))*time.Millisecond)
					name := fmt.Sprint("d", rand.IntN(3))
					var err error
					switch rand.IntN(6) {
					case 0:
						err = c.Drop(ctx, name)
					case 1:
						err = c.SetPinned(ctx, name, i%2 == 0)
					case 2:
						_, err = c.EvictDataset(ctx, name, "why")
					case 3:
						c.Evict(100, func(string) bool { return false }, "why")
					default:
						fakes, list := batches(t, schema, w, i)
						var p *Put
						if p, err = c.Begin(name, []Mode{Append, Replace}[i%2], schema); err != nil {
							t.Error(err)
							break
						}
						p.Durable = []*bool{nil, yes, no}[rand.IntN(3)]
						p.TTL = time.Duration(rand.IntN(2)*rand.IntN(30)) * time.Millisecond
						var g *Generation
						if g, err = p.Commit(ctx, list, "zstd", nil); err == nil {
							g.Release()
							mu.Lock()
							all = append(all, fakes...)
							mu.Unlock()
						} else {
							wantRefs(t, fakes, 1)
						}
					}
					for _, expected := range []error{nil, errKeeper, ErrNotFound, ErrPinned, ErrDurable, context.DeadlineExceeded} {
						if errors.Is(err, expected) {
							err = nil
						}
					}
					if err != nil {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		work.Wait()
		time.Sleep(time.Hour) // all that has a time is over, however often its end failed
		synctest.Wait()
		k.wantKept(t, c)
		c.Clear()
		wantRefs(t, all, 0)
	})
}
