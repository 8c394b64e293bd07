package flight

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

var createExisting = byCommand(`{"dataset":"there","mode":"create"}`)

// A client that goes on writing after its put was refused sees why, not a reset: its whole stream is received.
func TestRefusalReachesAClientThatGoesOnWriting(t *testing.T) {
	f := start(t)
	f.put(byPath("there"), numbers(constant(1), 10))
	stored := f.charged()
	messages := described(createExisting, messagesOf(t, noise(10_000)))
	for len(messages) < 201 {
		messages = append(messages, messages[1])
	}
	t.Run("generated client", func(t *testing.T) {
		stream, err := f.client.DoPut(f.context())
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range messages {
			if err := stream.Send(m); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		wantStatus(t, err, codes.AlreadyExists, `"there"`, "10 rows", "replace or append")
	})
	t.Run("arrow-go client", func(t *testing.T) {
		client, err := arrowflight.NewClientWithMiddleware(f.address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		stream, err := client.DoPut(f.context())
		if err != nil {
			t.Fatal(err)
		}
		tb := noise(10_000)
		w := arrowflight.NewRecordWriter(stream, ipc.WithSchema(tb.schema))
		w.SetFlightDescriptor(createExisting)
		for i := range 200 {
			if err := w.Write(tb.batches[0]); err != nil {
				t.Fatalf("batch %d: %v", i, err)
			}
		}
		if err := errors.Join(w.Close(), stream.CloseSend()); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		wantStatus(t, err, codes.AlreadyExists, `"there"`)
	})
	f.settles(stored)
	if got := tableOf(t, f.get("there")); got.rows() != 10 {
		t.Errorf("%d rows, want the 10 that were there", got.rows())
	}
}

// A put whose command cannot be read names no dataset, and the refusal none either.
func TestRefusalOfAnUnreadableCommand(t *testing.T) {
	f := start(t)
	for command, wants := range map[string]string{
		`{"dataset":"d","mod":"create"}`: `"mod"`,
		`{"dataset":7}`:                  "dataset",
		`{`:                              "JSON",
	} {
		_, err := f.send(described(byCommand(command), messagesOf(t, numbers(constant(1), 10))))
		wantStatus(t, err, codes.InvalidArgument, wants)
		if strings.Contains(status.Convert(err).Message(), `dataset ""`) {
			t.Errorf("command %s: %v", command, err)
		}
	}
}

// A client that never half-closes is not waited for longer than the drain time.
func TestDrainEndsByTime(t *testing.T) {
	f := start(t, func(s *setup) { s.service.DrainTime = 20 * time.Millisecond })
	f.put(byPath("there"), numbers(constant(1), 10))
	stream, err := f.client.DoPut(f.context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range described(createExisting, messagesOf(t, numbers(constant(1), 10))) {
		if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	_, err = stream.Recv() // the context's 30 seconds are far off
	wantStatus(t, err, codes.AlreadyExists, `"there"`)
}

// A client that never stops sending is not listened to beyond the drain bytes: it learns of the end by an error of Send.
func TestDrainEndsByBytes(t *testing.T) {
	f := start(t, func(s *setup) {
		s.service.DrainBytes = 1 << 20
		s.service.DrainTime = time.Hour
	})
	f.put(byPath("there"), numbers(constant(1), 10))
	messages := described(createExisting, messagesOf(t, noise(10_000)))
	stream, err := f.client.DoPut(f.context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(messages[0]); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = stream.Send(messages[1])
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("send: %v", err)
	}
	// Which of the two ends it, the status or the reset, is the race that draining avoids.
	if _, err := stream.Recv(); status.Code(err) == codes.OK || status.Code(err) == codes.DeadlineExceeded {
		t.Errorf("the refused put ended with %v", err)
	}
}

// A refused put holds none of the memory that it still receives.
func TestDrainTakesNoMemory(t *testing.T) {
	f := start(t)
	f.put(byPath("there"), numbers(constant(1), 10))
	stored := f.charged()
	messages := described(createExisting, messagesOf(t, noise(100_000)))
	stream, err := f.client.DoPut(f.context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(messages[0]); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := stream.Send(messages[1]); err != nil {
			t.Fatal(err)
		}
		if c := f.charged(); c != stored {
			t.Fatalf("%d bytes charged while draining, %d are stored", c, stored)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantStatus(t, err, codes.AlreadyExists)
}

func TestMessageOverTheReceiveLimit(t *testing.T) {
	f := start(t, func(s *setup) { s.service.MaxReceive = 64 << 10 })
	_, err := f.send(described(byPath("d"), messagesOf(t, noise(10_000))))
	wantStatus(t, err, codes.ResourceExhausted, `"d"`, "80", "65536", "--max-message", "smaller batches")
	// Beyond the room for framing the transport refuses, before anything was read of it.
	_, err = f.send(described(byPath("d"), messagesOf(t, noise(200_000))))
	wantStatus(t, err, codes.ResourceExhausted, `"d"`, "too large", "16001", "--max-message", "smaller batches")
	f.put(byPath("d"), noise(8000))
}

func TestStoreOutOfMemory(t *testing.T) {
	f := start(t, func(s *setup) { s.store.Arena.ReserveBytes = 4 << 20 })
	_, err := f.send(described(byPath("d"), messagesOf(t, noise(200_000, 200_000, 200_000, 200_000))))
	wantStatus(t, err, codes.ResourceExhausted, `"d"`, "no memory")
	f.settles(0)
	f.put(byPath("d"), noise(1000))
}
