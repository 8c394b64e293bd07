package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// writeNumbers writes an Arrow IPC file of one column.
func writeNumbers(t *testing.T, path string, numbers ...int64) {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues(numbers, nil)
	batch := b.NewRecordBatch()
	defer batch.Release()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := ipc.NewFileWriter(file, ipc.WithSchema(batch.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// Names come from the files' places below the folder. What is hidden or of another extension is not looked at; what cannot
// be served is left out with a reason, and all else is served.
func TestLoadFolder(t *testing.T) {
	folder := t.TempDir()
	for _, file := range []string{
		"a.arrow", "a.feather", "b.ipc", "sub/folder/c.d.arrow", "sub.arrow/e.arrow", ".hidden.arrow", ".hidden/x.arrow", "x.parquet",
		"1/2/3/4/5/6/7/8/9.arrow", "{.arrow",
	} {
		writeNumbers(t, filepath.Join(folder, file), 1, 2, 3)
	}
	if err := os.WriteFile(filepath.Join(folder, "damaged.arrow"), []byte("ARROW1"), 0o666); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "real.arrow")
	writeNumbers(t, elsewhere, 4)
	for link, target := range map[string]string{"link.arrow": elsewhere, "nowhere.arrow": filepath.Join(folder, "none"), "folder.arrow": t.TempDir()} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	core, logs := observer.New(zapcore.InfoLevel)
	c := &serveCmd{Load: folder, Memory: 16 << 20}
	s, err := c.openStores(zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := c.load(context.Background(), s, zap.New(core)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range s.names.List("") {
		names = append(names, g.Dataset)
		if g.Dataset == "link" && g.Rows != 1 || g.Dataset != "link" && g.Rows != 3 {
			t.Errorf("%s has %d rows", g.Dataset, g.Rows)
		}
		g.Release()
	}
	if want := []string{"a", "b", "link", "sub.arrow/e", "sub/folder/c.d"}; !slices.Equal(names, want) {
		t.Errorf("datasets %q, want %q", names, want)
	}
	left := map[string]string{}
	for _, e := range logs.FilterMessage("left out of --load").All() {
		left[e.ContextMap()["file"].(string)] = e.ContextMap()["error"].(string)
	}
	for file, why := range map[string]string{
		"a.feather": "exists", "1/2/3/4/5/6/7/8/9.arrow": "9 segments", "{.arrow": "starts with '{'", "damaged.arrow": "too short",
		"nowhere.arrow": "no such file",
	} {
		if !strings.Contains(left[file], why) {
			t.Errorf("%s was left out because %q, want %q", file, left[file], why)
		}
		delete(left, file)
	}
	if len(left) > 0 {
		t.Errorf("left out too: %q", left)
	}
}

func TestLoadNothing(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "x.txt")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for load, want := range map[string]string{folder: "no file in it ends with .arrow", file: "no folder", filepath.Join(folder, "none"): "no such file"} {
		err := (&serveCmd{Load: load}).load(context.Background(), nil, zap.NewNop())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--load "+load) {
			t.Errorf("%s: %v, want %q", load, err, want)
		}
	}
	writeNumbers(t, filepath.Join(folder, "x.arrow"), 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&serveCmd{Load: folder}).load(ctx, nil, zap.NewNop()); !errors.Is(err, context.Canceled) {
		t.Errorf("after a signal: %v", err)
	}
}
