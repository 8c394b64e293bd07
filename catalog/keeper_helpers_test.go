package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/flightcache/flightcache/arrowipc"
)

// fakeKeeper keeps descriptions of generations in memory. Calls wait while it is held, and fail while it is to.
type fakeKeeper struct {
	mu    sync.Mutex
	kept  map[string]string // by dataset
	puts  []KeptPut
	calls []string
	fails error
	hold  chan struct{} // nil: calls do not wait
}

var errKeeper = errors.New("the disk is on fire")

func newKeeper() *fakeKeeper { return &fakeKeeper{kept: map[string]string{}} }

// describe says of a generation what is to be kept.
func describe(g *Generation, pinned bool) string {
	expires := ""
	if !g.Expires.IsZero() {
		expires = " expires " + g.Expires.UTC().Format("15:04:05")
	}
	return fmt.Sprintf("%s %v pinned %v%s", g.ID, ids(g), pinned, expires)
}

func (k *fakeKeeper) wait(call string) error {
	k.mu.Lock()
	k.calls = append(k.calls, call)
	hold := k.hold
	k.mu.Unlock()
	if hold != nil {
		<-hold
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fails
}

func (k *fakeKeeper) Keep(what Kept) error {
	name := what.Generation.Dataset
	if err := k.wait("keep " + name); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[name] = describe(what.Generation, what.Pinned)
	if what.Put != nil {
		k.puts = append(k.puts, *what.Put)
	}
	return nil
}

func (k *fakeKeeper) Forget(name string) error {
	if err := k.wait("forget " + name); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, name)
	return nil
}

// holding has calls wait until the function is called.
func (k *fakeKeeper) holding() (goOn func()) {
	hold := make(chan struct{})
	k.mu.Lock()
	k.hold = hold
	k.mu.Unlock()
	return func() {
		k.mu.Lock()
		k.hold = nil
		k.mu.Unlock()
		close(hold)
	}
}

func (k *fakeKeeper) failing(err error) {
	k.mu.Lock()
	k.fails = err
	k.mu.Unlock()
}

func (k *fakeKeeper) wantCalls(t *testing.T, want ...string) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Equal(k.calls, want) {
		t.Errorf("the keeper was called for %q, want %q", k.calls, want)
	}
	k.calls = nil
}

// wantKept checks that exactly the durable datasets are kept, as they are.
func (k *fakeKeeper) wantKept(t interface {
	Helper()
	Fatalf(string, ...any)
}, c *Catalog) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	durable := 0
	for _, g := range c.List("") {
		if g.Durable {
			durable++
			if got, want := k.kept[g.Dataset], describe(g, g.Pinned()); got != want {
				t.Fatalf("of %q is kept %q, want %q", g.Dataset, got, want)
			}
		}
		g.Release()
	}
	if durable != len(k.kept) {
		t.Fatalf("%d datasets are durable, but kept is %q", durable, k.kept)
	}
}

var yes, no = new(bool), new(bool)

func init() { *yes = true }

// commitAs commits batches with these ids by a put that says so. On an error the test has its batches again.
func commitAs(t testing.TB, c *Catalog, name string, mode Mode, schema *arrowipc.Schema, durable *bool, ids ...int) ([]*fakeBatch, error) {
	t.Helper()
	fakes, list := batches(t, schema, ids...)
	p, err := c.Begin(name, mode, schema)
	if err != nil {
		return nil, err
	}
	p.Durable = durable
	g, err := p.Commit(context.Background(), list, "zstd", nil)
	if err != nil {
		wantRefs(t, fakes, 1)
		return fakes, err
	}
	g.Release()
	return fakes, nil
}
