package intake

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
)

// acknowledges is what the server writes when it has taken a client's settings.
func (c *client) acknowledges() {
	var b bytes.Buffer
	if err := http2.NewFramer(&b, nil).WriteSettingsAck(); err != nil {
		c.t.Fatal(err)
	}
	for _, p := range b.Bytes() {
		c.conn.Write([]byte{p})
	}
}

// The size of frames that a client takes holds from the moment when the server has written that it knows.
func TestFrameLimit(t *testing.T) {
	frame := func(n uint32) http2.Setting { return http2.Setting{ID: http2.SettingMaxFrameSize, Val: n} }
	window := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}
	c := connect(t, New(Options{}))
	says := func(settings ...http2.Setting) {
		t.Helper()
		if err := c.WriteSettings(settings...); err != nil {
			t.Fatal(err)
		}
		for _, b := range c.out.Bytes() {
			c.conn.received([]byte{b})
		}
		c.out.Reset()
	}
	is := func(want int) {
		t.Helper()
		if got := c.conn.FrameLimit(); got != want {
			t.Errorf("frames may have %d bytes, want %d", got, want)
		}
	}
	is(16 << 10)
	says(window, frame(1<<20), window)
	is(16 << 10)
	c.acknowledges()
	is(1 << 20)

	says(window)
	says()
	says(frame(1<<21), frame(1<<22)) // the last one counts
	says(frame(20_000))
	for _, want := range []int{1 << 20, 1 << 20, 1 << 22, 20_000} {
		c.acknowledges()
		is(want)
	}

	c.acknowledges() // of nothing
	is(20_000)
	_ = c.WriteSettingsAck() // the client's own say nothing
	c.pass()
	c.acknowledges()
	is(20_000)
	says(frame(100)) // no client may say that
	c.acknowledges()
	is(16 << 10)

	for range 3 * maxSaid {
		says(frame(1 << 20))
	}
	if n := len(c.conn.settings.said); n > maxSaid {
		t.Errorf("%d settings are kept", n)
	}
}
