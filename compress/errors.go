package compress

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownCodec says that a codec's name or number is not one of ours. The message carries the value.
	ErrUnknownCodec = errors.New("unknown codec")

	// ErrLevel says that a Zstandard level is outside 1 to 22.
	ErrLevel = errors.New("zstd level out of range")

	// ErrCorrupt says that stored bytes are damaged or contradict themselves or the destination's length. The message
	// tells what was wrong and at which byte of the frame, where that is known.
	ErrCorrupt = errors.New("corrupt buffer")

	// ErrNotOneFrame says that the stored bytes are a skippable frame, or that more bytes (another frame, as a rule)
	// follow the first frame. Arrow wants exactly one frame a buffer. It is an [ErrCorrupt] too.
	ErrNotOneFrame = fmt.Errorf("%w: not exactly one frame", ErrCorrupt)

	// ErrLimit says that the stored bytes ask for more than is allowed: a decoded length above the caller's limit, or
	// a Zstandard window above 128 MiB.
	ErrLimit = errors.New("buffer over the limit")

	// ErrReleased says that an [Encoder] was used after its Release.
	ErrReleased = errors.New("encoder used after release")
)

// corrupt makes an ErrCorrupt whose message starts with the codec and goes on as given.
func corrupt(c Codec, format string, args ...any) error {
	return fmt.Errorf("%w: %s: "+format, append([]any{ErrCorrupt, c}, args...)...)
}

// extra makes an ErrNotOneFrame for the frame that starts or ends at byte pos.
func extra(c Codec, what string, pos int) error {
	return fmt.Errorf("%w: %s: %s at byte %d; write one frame per buffer", ErrNotOneFrame, c, what, pos)
}
