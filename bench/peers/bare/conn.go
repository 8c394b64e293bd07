package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// conn is a connection of a client.
type conn struct {
	net.Conn
	answer []byte
	chunk  int // the most that one frame takes

	mu      sync.Mutex // of what is written, and of the windows
	opened  sync.Cond  // a window has grown, or the connection is over
	over    bool
	frame   int            // the largest that the client takes
	initial int            // window of a stream
	window  int            // of the connection
	streams map[uint32]int // their windows
	encoder *hpack.Encoder
	headers bytes.Buffer
	*http2.Framer
}

// serve reads what the client sends until it goes, or sends what is not understood.
func (c *conn) serve() {
	c.opened.L = &c.mu
	c.frame, c.initial, c.window, c.streams = 16<<10, 65535, 65535, map[uint32]int{}
	c.encoder = hpack.NewEncoder(&c.headers)
	defer func() {
		c.mu.Lock()
		c.over = true
		c.opened.Broadcast()
		c.mu.Unlock()
		c.Close()
	}()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c.Conn, preface); err != nil {
		return
	}
	c.Framer = http2.NewFramer(c.Conn, c.Conn)
	err := c.WriteSettings()
	for err == nil {
		var f http2.Frame
		if f, err = c.ReadFrame(); err == nil {
			err = c.take(f)
		}
	}
}

// take does what a frame asks for.
func (c *conn) take(f http2.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened.Broadcast()
	id := f.Header().StreamID
	ends := false
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if v, ok := f.Value(http2.SettingMaxFrameSize); ok {
			c.frame = int(v)
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			for id := range c.streams {
				c.streams[id] += int(v) - c.initial
			}
			c.initial = int(v)
		}
		return c.WriteSettingsAck()
	case *http2.PingFrame:
		if f.IsAck() {
			return nil
		}
		return c.WritePing(true, f.Data)
	case *http2.WindowUpdateFrame:
		if id == 0 {
			c.window += int(f.Increment)
		} else if _, ok := c.streams[id]; ok {
			c.streams[id] += int(f.Increment)
		}
	case *http2.HeadersFrame:
		c.streams[id] = c.initial
		ends = f.StreamEnded()
	case *http2.DataFrame:
		ends = f.StreamEnded()
	case *http2.RSTStreamFrame:
		delete(c.streams, id)
	}
	if ends {
		go c.reply(id)
	}
	return nil
}

// head writes header fields of a stream. The lock is held.
func (c *conn) head(id uint32, ends bool, fields ...string) error {
	c.headers.Reset()
	for i := 0; i < len(fields); i += 2 {
		if err := c.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.headers.Bytes(), EndHeaders: true, EndStream: ends})
}

// reply sends the answer.
func (c *conn) reply(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head(id, false, ":status", "200", "content-type", "application/grpc") != nil {
		return
	}
	var head [9]byte
	for rest := c.answer; len(rest) > 0; {
		n := c.room(id, len(rest))
		if n <= 0 {
			return
		}
		binary.BigEndian.PutUint32(head[:], uint32(n)<<8)
		head[3] = 0
		binary.BigEndian.PutUint32(head[5:], id)
		c.window -= n
		c.streams[id] -= n
		// The lock is kept: a ping waits for its answer as it does behind any other writer.
		buffers := net.Buffers{head[:], rest[:n]}
		if _, err := buffers.WriteTo(c.Conn); err != nil {
			return
		}
		rest = rest[n:]
		c.mu.Unlock()
		c.mu.Lock()
	}
	_ = c.head(id, true, "grpc-status", "0")
	delete(c.streams, id)
}

// room waits until the windows are open, and gives how much of n may be sent in a frame; 0: nothing any more. The lock is held.
func (c *conn) room(id uint32, n int) int {
	for {
		of, ok := c.streams[id]
		if c.over || !ok {
			return 0
		}
		if m := min(n, c.chunk, c.frame, c.window, of); m > 0 {
			return m
		}
		c.opened.Wait()
	}
}
