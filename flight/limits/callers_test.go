package limits

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallers(t *testing.T) {
	c := NewCallers(CallerOptions{Gets: 2, Puts: 1})
	begin := func(who string, kind Kind) func() {
		t.Helper()
		leave, err := c.Begin(who, kind)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	refused := func(kind Kind, option string) {
		t.Helper()
		if _, err := c.Begin("a", kind); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "--"+option) || !strings.HasPrefix(err.Error(), "over a limit: a has") {
			t.Errorf("%v, want one of --%s", err, option)
		}
	}
	one, put := begin("a", Get), begin("a", Put)
	begin("a", Get)
	refused(Get, "max-gets")
	refused(Put, "max-puts")
	begin("a", Other)()
	begin("b", Get)() // another is not touched
	one()
	one() // once only
	begin("a", Get)
	refused(Get, "max-gets")
	put()
	begin("a", Put)
}

func TestCallersAtOnce(t *testing.T) {
	const most, callers = 5, 50
	c := NewCallers(CallerOptions{Gets: most})
	var wg sync.WaitGroup
	var mu sync.Mutex
	running, highest, refused := 0, 0, 0
	for range callers {
		wg.Go(func() {
			for range 200 {
				leave, err := c.Begin("a", Get)
				mu.Lock()
				if err == nil {
					running++
					highest = max(highest, running)
				} else {
					refused++
				}
				mu.Unlock()
				if err == nil {
					mu.Lock()
					running--
					mu.Unlock()
					leave()
				}
			}
		})
	}
	wg.Wait()
	if highest > most {
		t.Errorf("%d ran at once, %d may", highest, most)
	}
	if len(c.known) != 0 {
		t.Errorf("%d callers are remembered", len(c.known))
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCallers(CallerOptions{Rate: 10})
		calls := func(n int) (let int) {
			for range n {
				leave, err := c.Begin("a", Other)
				if err == nil {
					let++
					leave()
				} else if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "a makes more than 10 calls a second; call less often (option --max-rate)") {
					t.Fatal(err)
				}
			}
			return let
		}
		if n := calls(30); n != 10 {
			t.Errorf("%d calls at once were let in, want 10", n)
		}
		time.Sleep(500 * time.Millisecond)
		if n := calls(30); n != 5 {
			t.Errorf("%d calls were let in after half a second, want 5", n)
		}
		// Callers that come and go are forgotten; one that has called too much is not.
		for i := range 5 * leastSweep {
			if i%leastSweep == 0 {
				time.Sleep(time.Second)
				calls(30)
			}
			if leave, err := c.Begin(fmt.Sprint(i), Get); err == nil {
				leave()
			}
		}
		if n := len(c.known); n > 3*leastSweep {
			t.Errorf("%d callers are remembered", n)
		}
		if _, err := c.Begin("a", Other); err == nil {
			t.Error("who called too much was forgotten")
		}
	})
}
