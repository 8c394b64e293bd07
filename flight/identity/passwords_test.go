package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Whatever the cost of a user's hash, a wrong guess works as much as one of the highest cost, and so does one of a name that there is
// not: each cost is twice the work of the one below.
func TestWrongGuessesCostTheSame(t *testing.T) {
	var file strings.Builder
	for cost := bcrypt.MinCost; cost <= bcrypt.MinCost+4; cost++ {
		l, err := PasswordLine(fmt.Sprint("user", cost), "pw", cost)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&file, l)
	}
	p, err := parsePasswords([][]byte{[]byte(file.String())})
	if err != nil {
		t.Fatal(err)
	}
	if p.most != bcrypt.MinCost+4 {
		t.Errorf("the highest cost is %d", p.most)
	}
	for cost := bcrypt.MinCost; cost <= p.most; cost++ {
		work := 1 << cost
		p.level(cost, func(hash []byte) {
			c, err := bcrypt.Cost(hash)
			if err != nil {
				t.Fatal(err)
			}
			if err := bcrypt.CompareHashAndPassword(hash, []byte("guess")); !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
				t.Fatalf("a hash of cost %d is not compared: %v", c, err)
			}
			work += 1 << c
		})
		if work != 1<<p.most {
			t.Errorf("a guess at a hash of cost %d works %d, want %d", cost, work, 1<<p.most)
		}
	}
	if c, err := bcrypt.Cost(nobody(p.most)); c != p.most || err != nil {
		t.Errorf("nobody's hash has cost %d: %v", c, err)
	}
	a := open(t, Options{PasswordsFile: write(t, file.String())})
	for cost := bcrypt.MinCost; cost <= p.most; cost++ {
		name := fmt.Sprint("user", cost)
		_, _, err := a.Login(t.Context(), name, "guess", "192.0.2.1")
		refusedAs(t, err, "wrong password")
		if _, _, err := a.Login(t.Context(), name, "pw", "192.0.2.1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err = a.Login(t.Context(), "nobody", "guess", "192.0.2.1")
	refusedAs(t, err, "no such user")
}

// However many wrong tokens there are at once, a guess of a password takes its time.
func TestPasswordsAreSlowAmongManyTokens(t *testing.T) {
	path := write(t, line(t, "alice", "pw"))
	tokens := write(t, TokenLine("robot", "x"))
	synctest.Test(t, func(t *testing.T) {
		a, err := Open(Options{PasswordsFile: path, TokensFile: tokens})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		var all sync.WaitGroup
		for range maxSlow {
			all.Go(func() { a.Identify(context.Background(), header("Bearer wrong")) })
		}
		synctest.Wait()
		start := time.Now()
		a.Identify(t.Context(), header("Bearer wrong"))
		if took := time.Since(start); took != 0 {
			t.Errorf("one wrong token more waits %v: what waits is not bounded", took)
		}
		for i := range 3 {
			start = time.Now()
			_, _, err = a.Login(t.Context(), []string{"alice", "bob"}[i%2], "guess", "192.0.2.1")
			refusedAs(t, err, "")
			if took := time.Since(start); took != DefaultDelay {
				t.Errorf("guess %d took %v", i, took)
			}
			for range maxSlow {
				all.Go(func() { a.Identify(context.Background(), header("Bearer wrong")) })
			}
			synctest.Wait()
		}
		all.Wait()
		if n := a.slow.waiting.Load(); n != 0 {
			t.Errorf("%d wait still", n)
		}
	})
}
