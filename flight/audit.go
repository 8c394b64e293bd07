package flight

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	"github.com/flightcache/flightcache/descriptors"
)

// Bounds of audit lines about denied calls, which anybody can bring about: so many at once, and then one in such a time.
const (
	denialsBurst = 200
	denialsEvery = 50 * time.Millisecond
)

// writes are the actions that change datasets, or where they lie.
var writes = map[string]bool{
	"drop": true, "pin": true, "unpin": true, "evict": true, "compact": true, "begin": true, "commit": true, "abort": true,
}

// audit writes a line for each call that changed something, or tried to, for each login, and for each call that was denied. There
// is nothing in it that a client shows to be known.
type audit struct {
	log *zap.Logger // nil: nothing is written
	sparing
	lines, spared atomic.Int64 // lines that were written, and that were not as there were too many denied calls
}

// event names what a call did, and tells whether it has a line.
func (c *call) event(method string) (name string, told bool) {
	denied := c.reason != "" || c.denied != ""
	switch {
	case method == methodDoPut:
		return "put", true
	case method == methodHandshake:
		return "login", true
	case writes[c.action]:
		return c.action, true
	case c.action != "":
		return c.action, denied
	}
	return c.seen.name, denied
}

// tell writes the line of a call that has ended, if it has one. The message is the error's.
func (a *audit) tell(ctx context.Context, c *call, method string, code codes.Code, message string) {
	if a.log == nil {
		return
	}
	event, told := c.event(method)
	if !told {
		return
	}
	var fields []zap.Field
	if c.reason != "" || c.denied != "" {
		omitted, ok := a.admit()
		if !ok {
			a.spared.Add(1)
			return
		}
		if omitted > 0 {
			fields = append(fields, zap.Int("omitted", omitted))
		}
	}
	a.lines.Add(1)
	text := func(key, value string) {
		if value != "" {
			fields = append(fields, zap.String(key, descriptors.Legible(value)))
		}
	}
	text("code", code.String())
	if c.caller != nil {
		text("caller", c.caller.Name)
		text("by", string(c.caller.Kind))
	}
	if p, ok := peer.FromContext(ctx); ok {
		text("peer", p.Addr.String())
	}
	text("dataset", c.dataset)
	text("transaction", c.transaction)
	if c.rows > 0 || c.bytes > 0 {
		fields = append(fields, zap.Int64("rows", c.rows), zap.Int64("bytes", c.bytes))
	}
	text("denied", c.denied)
	text("reason", c.reason)
	text("error", message)
	a.log.Info(descriptors.Legible(event), fields...)
}
