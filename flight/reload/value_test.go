package reload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sum parses one number from each file, and adds them.
func sum(contents [][]byte) (int, error) {
	total := 0
	for _, b := range contents {
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

type told struct {
	changed []int
	failed  []string
}

func (x *told) options(files ...string) Options[int] {
	return Options[int]{
		Files: files, Parse: sum, Every: time.Hour, // the tests have it look
		Changed: func(n int) { x.changed = append(x.changed, n) },
		Failed:  func(err error) { x.failed = append(x.failed, err.Error()) },
	}
}

func TestValueFollowsItsFiles(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	write(t, a, "1")
	write(t, b, "10")
	var x told
	v, err := Open(x.options(a, b))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	steps := []struct {
		do      func()
		value   int
		changed []int
		failed  int
	}{
		{func() {}, 11, nil, 0},
		{func() { write(t, a, "2") }, 12, []int{12}, 0},
		{func() { write(t, a, "x") }, 12, []int{12}, 1},
		{func() {}, 12, []int{12}, 1}, // told once
		{func() { write(t, a, "y") }, 12, []int{12}, 2},
		{func() { os.Remove(b) }, 12, []int{12}, 3},
		{func() {}, 12, []int{12}, 3},
		{func() { write(t, a, "3"); write(t, b, "20") }, 23, []int{12, 23}, 3},
		{func() { write(t, a, strings.Repeat(" ", maxFile+1)) }, 23, []int{12, 23}, 4},
		{func() { os.Remove(a); os.Symlink(b, a) }, 40, []int{12, 23, 40}, 4},
	}
	for i, s := range steps {
		s.do()
		v.Look()
		if v.Get() != s.value || !slices.Equal(x.changed, s.changed) || len(x.failed) != s.failed {
			t.Fatalf("step %d: %d, changed %v, failed %q; want %+v", i, v.Get(), x.changed, x.failed, s)
		}
	}
}

func TestValueLooksByItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "1")
	synctest.Test(t, func(t *testing.T) {
		v, err := Open(Options[int]{Files: []string{path}, Parse: sum})
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, "2")
		time.Sleep(Every - 1)
		synctest.Wait()
		if v.Get() != 1 {
			t.Error("it looked too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if v.Get() != 2 {
			t.Error("it did not look")
		}
		v.Close()
		write(t, path, "3")
		time.Sleep(time.Hour)
		if v.Get() != 2 {
			t.Error("it looked when it was closed")
		}
	})
}

// What is not in files may fail at first, and is read sooner again while it fails.
func TestReadByAFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x told
		var mu sync.Mutex // of all that follows
		var content string
		reads := 0
		o := x.options()
		o.Every, o.Retry, o.Later = time.Minute, time.Second, true
		changed, failed := o.Changed, o.Failed
		o.Changed = func(n int) { mu.Lock(); changed(n); mu.Unlock() }
		o.Failed = func(err error) { mu.Lock(); failed(err); mu.Unlock() }
		o.Read = func(ctx context.Context) ([][]byte, error) {
			mu.Lock()
			reads++
			now := content
			mu.Unlock()
			switch now {
			case "":
				return nil, errors.New("nothing there")
			case "hangs":
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return [][]byte{[]byte(now)}, nil
		}
		v, err := Open(o)
		if err != nil || v.Get() != 0 {
			t.Fatalf("%v, %v", v.Get(), err)
		}
		for _, step := range []struct {
			content                         string
			wait                            time.Duration
			value, reads, failures, changes int
		}{
			{"", 3 * time.Second, 0, 4, 1, 0},
			{"5", time.Second, 5, 5, 1, 1},
			{"6", 59 * time.Second, 5, 5, 1, 1},
			{"6", time.Second, 6, 6, 1, 2},
			{"x", time.Minute, 6, 7, 2, 2},
			{"x", 2 * time.Second, 6, 9, 2, 2}, // still of no use, and looked at soon
			{"", time.Second, 6, 10, 3, 2},
			{"6", time.Second, 6, 11, 3, 3},
			{"6", 59 * time.Second, 6, 11, 3, 3},
			{"", time.Second, 6, 12, 4, 3},
			{"6", time.Second, 6, 13, 4, 3}, // as before: no change
			{"6", 59 * time.Second, 6, 13, 4, 3},
			{"hangs", time.Second, 6, 14, 4, 3},
		} {
			mu.Lock()
			content = step.content
			mu.Unlock()
			time.Sleep(step.wait)
			synctest.Wait()
			mu.Lock()
			if v.Get() != step.value || reads != step.reads || len(x.failed) != step.failures || len(x.changed) != step.changes {
				t.Errorf("%+v: value %d, %d reads, changed %v, failed %q", step, v.Get(), reads, x.changed, x.failed)
			}
			mu.Unlock()
		}
		v.Close() // ends the reading
		if len(x.failed) != 4 {
			t.Errorf("the end of reading is told as a failure: %q", x.failed)
		}
	})
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	var x told
	_, err := Open(x.options(a, b))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b) {
		t.Errorf("of two missing files: %v", err)
	}
	write(t, a, "one")
	if _, err := Open(x.options(a)); !errors.Is(err, strconv.ErrSyntax) {
		t.Errorf("of a bad one: %v", err)
	}
}
