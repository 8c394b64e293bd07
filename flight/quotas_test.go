package flight

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/limits"
)

// quota has a server with a quota, and with the most bytes of one dataset (0: any).
func quota(t *testing.T, dataset int64, names string, bytes int64) func(*setup) {
	t.Helper()
	p, err := descriptors.ParsePattern(names)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *setup) {
		s.service.Quotas = limits.NewQuotas(dataset, []limits.Quota{{Names: p, Bytes: bytes}})
		s.catalog.Ledger = LedgerOf(s.service.Quotas)
	}
}

// kept is a put's command.
func kept(dataset, mode string) string {
	return fmt.Sprintf(`{"dataset":%q,"mode":%q,"codec":"none"}`, dataset, mode)
}

func TestQuotaOfPuts(t *testing.T) {
	tb := noise(10_000)
	size := func() int64 {
		f := start(t)
		return f.put(byCommand(kept("d", "replace")), tb).StoredBytes
	}()
	f := start(t, quota(t, 0, "sales/**", 3*size))
	put := func(dataset, mode string) error {
		_, err := f.send(described(byCommand(kept(dataset, mode)), messagesOf(t, tb)))
		return err
	}
	fits := func(dataset, mode string) {
		t.Helper()
		if err := put(dataset, mode); err != nil {
			t.Fatal(err)
		}
	}
	full := func(dataset, mode string) {
		t.Helper()
		charged := f.charged()
		wantStatus(t, put(dataset, mode), codes.ResourceExhausted, `datasets "sales/**" would have`, fmt.Sprint(3*size), "(option --quota)", dataset)
		f.settles(charged)
	}
	fits("sales/a", "create")
	fits("sales/a", "append")
	fits("sales/b", "append")
	full("sales/b", "append")
	full("sales/c", "create")
	fits("other", "create")
	fits("sales/a", "replace") // by less than there was
	fits("sales/c", "create")
	full("sales/d", "create")
	fits("sales/a", "replace") // by as much

	var dropped dropResult
	if err := f.action("drop", `{"dataset":"sales/b"}`, &dropped); err != nil {
		t.Fatal(err)
	}
	fits("sales/d", "replace")
	var evicted evictResult
	if err := f.action("evict", `{"dataset":"sales/c"}`, &evicted); err != nil {
		t.Fatal(err)
	}

	// What waits in a transaction counts until it ends.
	var begun beginResult
	if err := f.action("begin", `{"dataset":"sales/e","mode":"append"}`, &begun); err != nil {
		t.Fatal(err)
	}
	part := byCommand(fmt.Sprintf(`{"dataset":"sales/e","transaction":%q,"codec":"none"}`, begun.Transaction))
	f.put(part, tb)
	full("sales/f", "create")
	if _, err := f.send(described(part, messagesOf(t, tb))); err == nil {
		t.Error("a second part is over the quota, and was taken")
	}
	transaction := fmt.Sprintf(`{"dataset":"sales/e","transaction":%q}`, begun.Transaction)
	var aborted abortResult
	if err := f.action("abort", transaction, &aborted); err != nil || !aborted.Aborted {
		t.Fatal(err)
	}
	fits("sales/f", "create")

	if err := f.action("begin", `{"dataset":"sales/f","mode":"replace"}`, &begun); err != nil {
		t.Fatal(err)
	}
	f.put(byCommand(fmt.Sprintf(`{"dataset":"sales/f","transaction":%q,"codec":"none"}`, begun.Transaction)), tb)
	var facts json.RawMessage
	if err := f.action("commit", fmt.Sprintf(`{"dataset":"sales/f","transaction":%q}`, begun.Transaction), &facts); err != nil {
		t.Errorf("a replacement of the same size: %v", err)
	}
	full("sales/g", "create")
}

func TestQuotaOfOneDataset(t *testing.T) {
	f := start(t, quota(t, 200_000, "**", 1<<40))
	tb := noise(10_000) // 80,000 bytes
	f.put(byCommand(kept("d", "replace")), tb)
	f.put(byCommand(kept("d", "append")), tb)
	_, err := f.send(described(byCommand(kept("d", "append")), messagesOf(t, tb)))
	wantStatus(t, err, codes.ResourceExhausted, `dataset "d" would have`, "at most 200000", "(option --max-dataset-size)")
	f.put(byCommand(kept("d", "replace")), tb)
	f.put(byCommand(kept("d", "append")), tb)
	f.put(byCommand(kept("e", "append")), tb)
}

// Puts that come at once and are answered never come to more than the quota, and what they leave is what is counted.
func TestQuotaOfPutsAtOnce(t *testing.T) {
	const each, fit = 80_000, 5
	f := start(t, quota(t, 0, "**", fit*each+each/2))
	tb := noise(10_000)
	var done atomic.Int64
	for range 4 {
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				_, err := sendTo(f.context(), f.client, described(byCommand(kept(fmt.Sprint("d", i%6), "append")), messagesOf(t, tb)))
				if err == nil {
					done.Add(1)
				} else {
					wantStatus(t, err, codes.ResourceExhausted, "--quota")
				}
			})
		}
		wg.Wait()
	}
	// Those that were refused have made room: one by one, as many as there is room for come in.
	for i := done.Load(); i < fit; i++ {
		f.put(byCommand(kept("last", "append")), tb)
	}
	if done.Load() > fit {
		t.Errorf("%d puts were taken, %d fit", done.Load(), fit)
	}
	_, err := f.send(described(byCommand(kept("last", "append")), messagesOf(t, tb)))
	wantStatus(t, err, codes.ResourceExhausted, "--quota")
}
