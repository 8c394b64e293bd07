//go:build !payloadtrap

package flight

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// The action that makes payloads unreadable is in no build but that of its own tag.
func TestNoTrapOutsideTestBuilds(t *testing.T) {
	f := start(t)
	f.put(byPath("d"), numbers(constant(1), 10))
	wantStatus(t, f.action("trap", "", nil), codes.InvalidArgument, "unknown action")
	sameTable(t, tableOf(t, f.get("d")), numbers(constant(1), 10))
}
