package flight

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// step is between neighbouring rows of what is put here, so that a reader can tell that it has the rows of one put, whole
// and in order, without knowing which.
const step = 0x5851F42D4C957F2D

// Writers, readers, and those who pin, unload and drop, all at once under a budget that holds a part of it: every read is of
// one put, whole.
func TestEvictionConcurrent(t *testing.T) {
	rounds := 60
	if underRace {
		rounds = 30
	}
	for _, eviction := range []Eviction{EvictionDrop, EvictionSpill} {
		t.Run(string(eviction), func(t *testing.T) {
			const memory = 2 * mib
			f := start(t, func(s *setup) {
				s.store.Memory, s.store.PutWait, s.store.Workers = memory, 300*time.Millisecond, 2
				s.store.MaxMessage, s.store.MaxBatchBytes = 64<<10, 64<<10
				s.service.Eviction = eviction
				if eviction == EvictionSpill {
					s.store.Dir, s.store.Spill = t.TempDir(), true
				}
			})
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			var next, reads, refused atomic.Int64
			allowed := func(err error) bool {
				switch status.Code(err) {
				case codes.NotFound, codes.FailedPrecondition, codes.Aborted:
					return true
				case codes.ResourceExhausted:
					refused.Add(1)
					return true
				}
				return err == nil
			}
			var wg sync.WaitGroup
			for i := range 6 {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(i)))
					for range rounds {
						name := string(rune('a' + r.IntN(6)))
						object := fmt.Sprintf(`{"dataset":%q}`, name)
						switch r.IntN(20) {
						case 0, 1, 2, 3, 4, 5:
							base, rows := next.Add(1<<40), 1000*(1+r.IntN(60))
							tb := numbers(func(row int64) int64 { return (base + row) * step }, rows, rows/2)
							command := fmt.Sprintf(`{"dataset":%q,"codec":%q}`, name, []string{"none", "lz4", "zstd"}[r.IntN(3)])
							if _, err := sendTo(f.context(), f.client, described(byCommand(command), messagesOf(t, tb))); !allowed(err) {
								t.Errorf("put: %v", err)
							}
						case 6:
							if err := f.action([]string{"pin", "unpin", "unpin"}[r.IntN(3)], object, new(any)); !allowed(err) {
								t.Errorf("pin: %v", err)
							}
						case 7, 8:
							if err := f.action("evict", object, new(any)); !allowed(err) {
								t.Errorf("evict: %v", err)
							}
						case 9:
							if err := f.action("drop", object, new(any)); !allowed(err) {
								t.Errorf("drop: %v", err)
							}
						default:
							messages, err := read(f.context(), f.client, name)
							if !allowed(err) {
								t.Errorf("get: %v", err)
							}
							if err != nil {
								continue
							}
							values := tableOf(t, messages).int64s()
							for i := range values {
								if values[i] != values[0]+int64(i)*step {
									t.Errorf("%s: row %d of %d is of another put", name, i, len(values))
									break
								}
							}
							reads.Add(1)
						}
						if st := f.store.Stats(); st.Charged > memory {
							t.Errorf("%+v", st)
						}
					}
				})
			}
			wg.Wait()
			t.Logf("%d reads; %d calls were refused", reads.Load(), refused.Load())
			if reads.Load() == 0 {
				t.Error("nothing was read")
			}
			for _, g := range f.catalog.List("") {
				if err := f.action("drop", fmt.Sprintf(`{"dataset":%q}`, g.Dataset), new(any)); err != nil {
					t.Error(err)
				}
				g.Release()
			}
			f.settles(0)
			if st := f.store.Stats(); st.Spilled != 0 || st.Disk != 0 || st.Files != 0 {
				t.Errorf("at the end: %+v", st)
			}
		})
	}
}
