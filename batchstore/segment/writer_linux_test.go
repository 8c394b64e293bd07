package segment

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullDisk makes every further write of a writer fail as it does on a full disk.
func fullDisk(t *testing.T, w *Writer) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.file.Close()
	w.file = full
}

// A full disk, wherever it is met, is an error that says so, ends the writer, and leaves nothing.
func TestDiskFull(t *testing.T) {
	p := newPool(t, 1)
	c := randomContent(t, seeded(t), 3, 100)
	for steps := range len(c.dictionaries) + len(c.batches) + 1 {
		folder := t.TempDir()
		w, err := p.Create(filepath.Join(folder, "segment.arrow"), c.schema)
		if err != nil {
			t.Fatal(err)
		}
		step := func(i int) error {
			switch n := len(c.dictionaries); {
			case i < n:
				return w.AddDictionary(c.schema.Layout.Dictionaries[i].ID, uidOf(i), c.dictionaries[i].facts, c.dictionaries[i].body)
			case i < n+len(c.batches):
				return w.AddBatch(c.batches[i-n].facts, c.batches[i-n].body)
			}
			_, err := w.Finish(true)
			return err
		}
		for i := range steps {
			if err := step(i); err != nil {
				t.Fatal(err)
			}
		}
		fullDisk(t, w)
		err = step(steps)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "segment.arrow") {
			t.Fatalf("step %d: %v", steps, err)
		}
		requireNothing(t, folder)
		if again := step(steps); again == nil || again.Error() != err.Error() {
			t.Errorf("step %d again: %v", steps, again)
		}
		if _, again := w.Finish(false); again == nil || again.Error() != err.Error() {
			t.Errorf("finish after step %d: %v", steps, again)
		}
		w.Abort()
		requireNothing(t, folder)
	}
}
