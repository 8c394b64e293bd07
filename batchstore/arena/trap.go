//go:build payloadtrap

package arena

import "golang.org/x/sys/unix"

// Trap makes every byte of the arena unreadable for good: whatever touches a payload from now on faults and ends the
// process. It exists in test builds only, to show what does without payloads.
func (a *Arena) Trap() error { return unix.Mprotect(a.mem, unix.PROT_NONE) }
