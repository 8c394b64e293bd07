package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far a transfer is, on a terminal only: rows, MiB and MiB/s. On anything else its methods do
// nothing.
type progress struct {
	bar         *progressbar.ProgressBar
	out         io.Writer
	start       time.Time
	rows, bytes int64
	// endless tells that the end is unknown.
	endless bool
}

// newProgress starts a display on w. totalBytes is the number of decoded bytes to come, or less than 0 if unknown.
func newProgress(w io.Writer, totalBytes int64) *progress {
	if isTerminal(w) == 0 {
		return &progress{}
	}
	if totalBytes <= 0 {
		totalBytes = -1
	}
	return &progress{out: w, start: time.Now(), endless: totalBytes < 0, bar: progressbar.NewOptions64(totalBytes,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// add counts a batch that was moved. The display is only an ornament: its errors are not the transfer's.
func (p *progress) add(rows, bytes int64) {
	p.rows += rows
	p.bytes += bytes
	if p.bar == nil {
		return
	}
	text := plural(p.rows, "row", "rows")
	if p.endless {
		// Without an end the bar is a spinner, which leaves out the bytes.
		text += ", " + humanBytes(p.bytes)
	}
	p.bar.Describe(text)
	_ = p.bar.Add64(bytes)
}

// done takes the display away, so that what follows starts on a clean line, and leaves the sum of a transfer that ended
// well.
func (p *progress) done(err error) {
	if p.bar == nil {
		return
	}
	_ = p.bar.Finish()
	if err != nil {
		return
	}
	took := time.Since(p.start)
	fmt.Fprintf(p.out, "%s, %s in %s (%s/s)\n", plural(p.rows, "row", "rows"), humanBytes(p.bytes),
		took.Round(time.Millisecond), humanBytes(int64(float64(p.bytes)/max(took.Seconds(), 1e-9))))
}
