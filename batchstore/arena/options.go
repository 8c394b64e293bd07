package arena

import (
	"errors"
	"fmt"
	"time"
)

const (
	// DefaultReserve is the address space that [Options] asks for when ReserveBytes is 0: 256 GiB. Addresses cost
	// nothing until they are touched.
	DefaultReserve = 1 << 38

	// DefaultWarm is the WarmBytes of [DefaultOptions]: 64 MiB.
	DefaultWarm = 64 << 20

	// DefaultWarmTime is the WarmTime of [DefaultOptions]: a second.
	DefaultWarmTime = time.Second

	// maxReserve keeps page numbers and byte offsets far from overflow; a process on amd64 has 1<<47 bytes of addresses.
	maxReserve = 1 << 46

	// hugeSize is the size of a transparent huge page on amd64 and on arm64 with 4 KiB pages.
	hugeSize = 2 << 20
)

// Options says how an [Arena] takes memory and how much of it it keeps. Start from [DefaultOptions].
type Options struct {
	// ReserveBytes is the address space to reserve, in bytes, rounded up to a multiple of 2 MiB; 0 means
	// [DefaultReserve]. Where the system refuses it (ulimit -v, strict overcommit), the arena makes do with less and
	// leaves at least as much to the rest of the process; [Stats] Reserved tells what it got.
	ReserveBytes int64

	// WarmBytes is how much free memory stays backed for reuse, in bytes; 0 keeps none.
	WarmBytes int64

	// WarmTime is how long all other free memory stays backed, within TotalBytes: what nobody has taken for as long is given back, at
	// the latest after twice the time. 0: what is above WarmBytes is given back at once.
	WarmTime time.Duration

	// TotalBytes is what live blocks and free memory that stays backed should take together, in bytes: free memory is given
	// back above it, down to an eighth of WarmBytes. 0 sets no bound; live blocks are never refused for it.
	TotalBytes int64

	// HugePages asks for transparent huge pages, and gives memory back in whole huge pages. It makes the first touch of
	// cold memory several times cheaper. Where the kernel has none, the arena goes on without them. When false, huge
	// pages are declined even where the system would give them to everyone.
	HugePages bool

	// Poison is for tests. Memory that is freed is filled with 0xDB, so that a read after Free shows, and Alloc panics
	// when free memory was written to. Every free and every allocation then touches each of its bytes.
	Poison bool
}

// DefaultOptions returns the options that suit a server: [DefaultReserve], [DefaultWarm], [DefaultWarmTime] and huge pages.
func DefaultOptions() Options {
	return Options{ReserveBytes: DefaultReserve, WarmBytes: DefaultWarm, WarmTime: DefaultWarmTime, HugePages: true}
}

// Validate reports every option that cannot be used, joined into one error.
func (o Options) Validate() error {
	var errs []error
	if o.ReserveBytes < 0 || o.ReserveBytes > maxReserve {
		errs = append(errs, fmt.Errorf("arena: ReserveBytes is %d; give 1 to %d bytes, or 0 for %d",
			o.ReserveBytes, int64(maxReserve), int64(DefaultReserve)))
	}
	if o.WarmBytes < 0 {
		errs = append(errs, fmt.Errorf("arena: WarmBytes is %d; give 0 (keep none) or more", o.WarmBytes))
	}
	if o.WarmTime < 0 {
		errs = append(errs, fmt.Errorf("arena: WarmTime is %s; give 0 (no time) or more", o.WarmTime))
	}
	if o.TotalBytes < 0 {
		errs = append(errs, fmt.Errorf("arena: TotalBytes is %d; give 0 (no bound) or more", o.TotalBytes))
	}
	return errors.Join(errs...)
}
