package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/flight"
)

// cancelled is what cancel reports: how many reads were given up, and how many of them had ended before.
type cancelled struct {
	Cancelled int `json:"cancelled"`
	Ended     int `json:"ended"`
}

// cancel begins reads on several connections at once and gives each up after a few messages. One in twenty goes with its
// connection.
func cancel(arguments []string) (report cancelled, err error) {
	flags := flag.NewFlagSet("cancel", flag.ContinueOnError)
	address := flags.String("address", "", "host and port")
	count := flags.Int("count", 1000, "how many reads")
	connections := flags.Int("connections", 8, "on how many connections at once")
	seed := flags.Uint64("seed", 0, "of the choice of tickets, and of when each read is given up")
	if err := flags.Parse(arguments); err != nil {
		return report, err
	}
	if flags.NArg() == 0 {
		return report, fmt.Errorf("%w: cancel wants tickets", errUsage)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for worker := range *connections {
		all.Go(func() {
			c := canceller{address: *address, tickets: flags.Args(), random: rand.New(rand.NewPCG(*seed, uint64(worker)))}
			failed := c.run(*count / *connections)
			mu.Lock()
			defer mu.Unlock()
			report.Cancelled += c.done.Cancelled
			report.Ended += c.done.Ended
			err = errors.Join(err, failed)
		})
	}
	all.Wait()
	return report, err
}

// canceller gives up reads on one connection, one after the other.
type canceller struct {
	address string
	tickets []string
	random  *rand.Rand
	done    cancelled
}

func (c *canceller) run(count int) error {
	client, err := connect(c.address)
	if err != nil {
		return err
	}
	defer func() { client.Close() }()
	for range count {
		ctx, cancel := context.WithCancel(context.Background())
		err := c.read(ctx, client)
		if err == nil && c.random.IntN(20) == 0 {
			client.Close()
			client, err = connect(c.address)
		}
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// read begins a read and receives up to three messages.
func (c *canceller) read(ctx context.Context, client flight.Client) error {
	ticket := c.tickets[c.random.IntN(len(c.tickets))]
	stream, err := client.DoGet(ctx, &flight.Ticket{Ticket: []byte(ticket)})
	if err != nil {
		return err
	}
	for range c.random.IntN(4) {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			c.done.Ended++
			return nil
		} else if err != nil {
			return err
		}
	}
	c.done.Cancelled++
	return nil
}
