package flight

import (
	"errors"
	"sync"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"

	"github.com/flightcache/flightcache/catalog"
)

// A put that is sent again is received, not stored, and answered as it was at first.
func TestRepeatedPut(t *testing.T) {
	f := start(t)
	d := byCommand(`{"dataset":"d","mode":"append","put_id":"p"}`)
	tb := numbers(constant(1), 1000, 1000)
	first := f.put(d, tb)
	f.put(byCommand(`{"dataset":"d","mode":"append","put_id":"q"}`), tb)
	charged := f.charged()
	for _, other := range []table{tb, numbers(constant(2), 5)} { // rows are not looked at
		if again := f.put(d, other); again.Generation != first.Generation || again.Rows != first.Rows {
			t.Errorf("answered %+v, want %+v", again, first)
		}
	}
	for command, c := range map[string]struct {
		tb   table
		says string
	}{
		`{"dataset":"d","mode":"append","put_id":"p"}`:             {mixed(1, 10), "had another schema"},
		`{"dataset":"d","put_id":"p"}`:                             {tb, "had mode append, now replace"},
		`{"dataset":"d","mode":"append","put_id":"p","rows":2001}`: {tb, "had 2000 rows, now 2001"},
	} {
		_, err := f.send(described(byCommand(command), messagesOf(t, c.tb)))
		wantStatus(t, err, codes.InvalidArgument, `dataset "d"`, c.says, "an id of its own")
	}
	if again := f.put(byCommand(`{"dataset":"d","mode":"append","put_id":"p","rows":2000}`), tb); again.Generation != first.Generation {
		t.Errorf("answered %+v, want %+v", again, first)
	}
	if f.charged() != charged {
		t.Errorf("%d bytes are charged, want %d", f.charged(), charged)
	}
	if got := tableOf(t, f.get("d")).rows(); got != 4000 {
		t.Errorf("%d rows, want two puts of 2000", got)
	}
	if n := f.server.stats.server.puts.Load(); n != 2 {
		t.Errorf("%d puts are counted", n)
	}
	f.put(byCommand(`{"dataset":"e","put_id":"p"}`), tb) // another dataset's
	if n := f.catalog.Len(); n != 2 {
		t.Errorf("%d datasets", n)
	}
}

// A put that failed has not used up its put_id.
func TestFailedPutFreesItsID(t *testing.T) {
	f := start(t)
	tb := numbers(constant(1), 10)
	_, err := f.send(described(byCommand(`{"dataset":"d","put_id":"p","rows":11}`), messagesOf(t, tb)))
	wantStatus(t, err, codes.InvalidArgument, "10 came")
	_, err = f.send(messages{{FlightDescriptor: byCommand(`{"dataset":"d","put_id":"p"}`)}}) // and no schema
	wantStatus(t, err, codes.InvalidArgument)
	if got := f.put(byCommand(`{"dataset":"d","put_id":"p"}`), tb).Rows; got != 10 {
		t.Errorf("%d rows", got)
	}
}

// Of puts with one id at the same time one is stored.
func TestConcurrentDuplicates(t *testing.T) {
	f := start(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]int{}
	for range 8 {
		wg.Go(func() {
			facts, err := sendTo(f.context(), f.client, described(byCommand(`{"dataset":"d","mode":"append","put_id":"p"}`),
				messagesOf(t, numbers(constant(1), 100, 100))))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			answers[facts.Generation]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(answers) != 1 {
		t.Errorf("answers of %d generations", len(answers))
	}
	if got := tableOf(t, f.get("d")).rows(); got != 200 {
		t.Errorf("%d rows", got)
	}
}

// A duplicate waits for the one that came first, and takes its place if that one goes away.
func TestDuplicateWaits(t *testing.T) {
	f := start(t)
	d := byCommand(`{"dataset":"d","put_id":"p"}`)
	first, err := f.client.DoPut(f.context())
	if err != nil {
		t.Fatal(err)
	}
	messages := described(d, messagesOf(t, numbers(constant(1), 10)))
	if err := first.Send(messages[0]); err != nil {
		t.Fatal(err)
	}
	f.eventually("the first put has begun", func() bool { return f.received.Load() == 1 })
	second := make(chan error, 1)
	go func() {
		facts, err := sendTo(f.context(), f.client, described(d, messagesOf(t, numbers(constant(2), 20))))
		if err == nil && facts.Rows != 20 {
			err = errors.New("it was answered with the facts of a put that failed")
		}
		second <- err
	}()
	f.eventually("the second put has come", func() bool { return f.received.Load() == 2 })
	if err := first.Send(&arrowflight.FlightData{DataHeader: []byte("garbage")}); err != nil {
		t.Fatal(err)
	}
	if err := first.CloseSend(); err != nil {
		t.Fatal(err)
	}
	_, err = first.Recv()
	wantStatus(t, err, codes.InvalidArgument)
	if err := <-second; err != nil {
		t.Error(err)
	}
}

// Puts of a transaction become visible at once, in the order that the commit gives.
func TestTransactionOfPuts(t *testing.T) {
	f := start(t)
	before := f.put(byPath("d"), numbers(constant(0), 5))
	var tx beginResult
	if err := f.action("begin", `{"dataset":"d","mode":"append","ttl":60}`, &tx); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339Nano, tx.Expires); err != nil || tx.Dataset != "d" {
		t.Errorf("begun: %+v", tx)
	}
	put := func(id string, rows int) (catalog.Facts, error) {
		return f.send(described(byCommand(`{"dataset":"d","transaction":"`+tx.Transaction+`","put_id":"`+id+`"}`),
			messagesOf(t, numbers(constant(int64(rows)), rows))))
	}
	for _, rows := range []int{10, 20, 30, 10} {
		facts, err := put(string(rune('a'+rows/10-1)), rows)
		if err != nil || facts.Rows != int64(rows) || facts.Generation != "" {
			t.Errorf("a put of %d rows: %+v, %v", rows, facts, err)
		}
	}
	if got := f.info(byPath("d")); got.TotalRecords != 5 {
		t.Errorf("%d rows are visible before the commit", got.TotalRecords)
	}
	if n := f.figure("transactions"); n != 1 {
		t.Errorf("%d transactions are open", n)
	}
	var facts catalog.Facts
	commit := `{"dataset":"d","transaction":"` + tx.Transaction + `","puts":["c","a"]}`
	for range 2 { // a commit may be sent again
		if err := f.action("commit", commit, &facts); err != nil || facts.Rows != 45 || facts.Generation == before.Generation {
			t.Errorf("committed: %+v, %v", facts, err)
		}
	}
	got := tableOf(t, f.get("d")).int64s()
	if len(got) != 45 || got[0] != 0 || got[5] != 30 || got[34] != 30 || got[35] != 10 {
		t.Errorf("rows %v", got)
	}
	_, err := put("z", 1)
	wantStatus(t, err, codes.NotFound, tx.Transaction, "begin another")
}

func TestTransactionsThatFail(t *testing.T) {
	f, c := startClocked(t)
	begin := func(body string) string {
		t.Helper()
		var tx beginResult
		if err := f.action("begin", body, &tx); err != nil {
			t.Fatal(err)
		}
		return tx.Transaction
	}
	send := func(command string) error {
		_, err := f.send(described(byCommand(command), messagesOf(t, numbers(constant(1), 10))))
		return err
	}
	tx := begin(`{"dataset":"d"}`)
	in := `"transaction":"` + tx + `"`
	wantStatus(t, send(`{"dataset":"d","mode":"append",`+in+`}`), codes.InvalidArgument, "append", "transaction's", "leave the mode out")
	wantStatus(t, send(`{"dataset":"e",`+in+`}`), codes.NotFound, tx)
	wantStatus(t, send(`{"dataset":"d","transaction":"none"}`), codes.NotFound, "none")
	wantStatus(t, f.action("commit", `{"dataset":"d",`+in+`}`, nil), codes.FailedPrecondition, "no put")
	if err := send(`{"dataset":"d","mode":"replace",` + in + `}`); err != nil {
		t.Error(err)
	}
	_, err := f.send(described(byCommand(`{"dataset":"d",`+in+`}`), messagesOf(t, mixed(1, 10))))
	wantStatus(t, err, codes.InvalidArgument, `"d"`, "first put")
	wantStatus(t, f.action("commit", `{"dataset":"d",`+in+`,"puts":["a"]}`, nil), codes.FailedPrecondition, `"a"`)
	wantStatus(t, f.action("commit", `{"dataset":"e",`+in+`}`, nil), codes.NotFound)
	wantStatus(t, f.action("abort", `{"dataset":"e",`+in+`}`, nil), codes.NotFound)
	var aborted abortResult
	if err := f.action("abort", `{`+in+`}`, &aborted); err != nil || !aborted.Aborted || aborted.Dataset != "d" || aborted.Transaction != tx {
		t.Errorf("aborted: %+v, %v", aborted, err)
	}
	wantStatus(t, f.action("abort", `{`+in+`}`, nil), codes.NotFound)
	f.settles(0)
	f.put(byPath("d"), numbers(constant(1), 1))
	wantStatus(t, f.action("begin", `{"dataset":"d","mode":"create"}`, nil), codes.AlreadyExists, `"d"`)
	late := begin(`{"dataset":"d","ttl":5}`)
	c.forward(5 * time.Second)
	wantStatus(t, f.action("commit", `{"dataset":"d","transaction":"`+late+`"}`, nil), codes.NotFound, "took too long")
}

// Where a transaction's time is over, its puts give their memory back, though nobody asks.
func TestTransactionExpires(t *testing.T) {
	f := start(t, func(s *setup) { s.service.TransactionTime = 300 * time.Millisecond })
	var tx beginResult
	if err := f.action("begin", `{"dataset":"d"}`, &tx); err != nil {
		t.Fatal(err)
	}
	// It may be over by now on a slow machine, and is then refused: nothing stays either way.
	f.send(described(byCommand(`{"dataset":"d","transaction":"`+tx.Transaction+`"}`), messagesOf(t, numbers(constant(1), 10_000))))
	f.settles(0)
}

// Ordered puts of a transaction make an ordered dataset.
func TestTransactionOfSortedPuts(t *testing.T) {
	f := start(t)
	for _, c := range []struct {
		puts string
		want int
	}{{`["a","b"]`, 1}, {`["b","a"]`, 0}} {
		var tx beginResult
		if err := f.action("begin", `{"dataset":"d"}`, &tx); err != nil {
			t.Fatal(err)
		}
		for i, id := range []string{"a", "b"} {
			f.put(byCommand(`{"dataset":"d","sorted_by":["n"],"put_id":"`+id+`","transaction":"`+tx.Transaction+`"}`), numbers(constant(int64(i)), 10))
		}
		var facts catalog.Facts
		if err := f.action("commit", `{"dataset":"d","transaction":"`+tx.Transaction+`","puts":`+c.puts+`}`, &facts); err != nil {
			t.Fatal(err)
		}
		if len(facts.SortedBy) != c.want {
			t.Errorf("%s: sorted by %q", c.puts, facts.SortedBy)
		}
	}
}

func TestTTL(t *testing.T) {
	f, c := startClocked(t)
	f.put(byCommand(`{"dataset":"d","ttl":60}`), numbers(constant(1), 10))
	var d catalog.Description
	if err := f.action("describe", `{"dataset":"d"}`, &d); err != nil || d.Expires != "2024-02-29T12:01:00Z" {
		t.Errorf("described as %+v, %v", d, err)
	}
	leased := f.info(byPath("d")).Endpoint[0]
	c.forward(time.Minute - 1)
	f.get("d")
	c.forward(1)
	_, err := read(f.context(), f.client, "d")
	wantStatus(t, err, codes.NotFound, `"d"`)
	f.wantEnded(leased, `"d"`)
}

// A dataset whose time is over gives everything back, the counts of its name too.
func TestTTLGivesBack(t *testing.T) {
	f := start(t)
	f.put(byCommand(`{"dataset":"d","ttl":1}`), numbers(constant(1), 10_000))
	f.settles(0)
	f.eventually("the counts are forgotten", func() bool {
		f.server.stats.mu.Lock()
		defer f.server.stats.mu.Unlock()
		return len(f.server.stats.datasets) == 0
	})
}

func TestPinAndUnpin(t *testing.T) {
	f := start(t)
	described := func() bool {
		t.Helper()
		var d catalog.Description
		if err := f.action("describe", `{"dataset":"d"}`, &d); err != nil {
			t.Error(err)
		}
		return d.Pinned
	}
	f.put(byCommand(`{"dataset":"d","pin":true}`), numbers(constant(1), 10))
	if !described() {
		t.Error("the put has not pinned it")
	}
	for _, name := range []string{"unpin", "pin"} {
		var r pinResult
		if err := f.action(name, `{"dataset":"d"}`, &r); err != nil || r.Dataset != "d" || r.Pinned != (name == "pin") || described() != r.Pinned {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		wantStatus(t, f.action(name, `{"dataset":"absent"}`, nil), codes.NotFound, `"absent"`)
	}
}
