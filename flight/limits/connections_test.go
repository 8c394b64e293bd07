package limits

import (
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// enter opens a connection that tells when it is closed.
func enter(t *testing.T, c *Connections) (*Place, *closing) {
	t.Helper()
	conn := &closing{closed: make(chan struct{})}
	p, err := c.Enter(conn)
	if err != nil {
		t.Fatal(err)
	}
	return p, conn
}

type closing struct {
	net.Conn
	closed chan struct{}
}

func (c *closing) Close() error {
	close(c.closed)
	return nil
}

func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewConnections(2)
		first, _ := enter(t, c)
		second, _ := enter(t, c)
		if first.Over() != nil || second.Over() != nil {
			t.Error("connections within the limit are over it")
		}
		third, conn := enter(t, c)
		err := third.Over()
		if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "2 connections are open") || !strings.Contains(err.Error(), "--max-connections") {
			t.Errorf("beyond the limit: %v", err)
		}
		<-conn.closed // after its time
		third.Leave()
		third.Leave()
		if n := c.Open(); n != 2 {
			t.Errorf("%d are open, want 2", n)
		}
		first.Leave()
		if p, _ := enter(t, c); p.Over() != nil {
			t.Error("a place that was left is not given again")
		}
		for range reserve {
			if p, _ := enter(t, c); p.Over() == nil {
				t.Error("one beyond the limit is within it")
			}
		}
		if _, err := c.Enter(&closing{}); !errors.Is(err, ErrLimit) {
			t.Errorf("beyond all: %v", err)
		}
		if (*Place)(nil).Over() != nil {
			t.Error("no place is over a limit")
		}
	})
}

// Those whose handshakes do not come to an end are closed, those that are ready stay.
func TestHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewConnections(0)
		ready, conn := enter(t, c)
		ready.Ready()
		_, pending := enter(t, c)
		left, gone := enter(t, c)
		c.Hurry()
		left.Leave()
		late, done := enter(t, c)
		_, never := enter(t, c)
		late.Ready()
		start := time.Now()
		<-pending.closed
		<-never.closed
		if took := time.Since(start); took != hurry {
			t.Errorf("they had %s", took)
		}
		time.Sleep(time.Hour)
		for _, stays := range []*closing{conn, gone, done} {
			select {
			case <-stays.closed:
				t.Error("it was closed")
			default:
			}
		}
	})
}
