package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

const suffix = ".arrows"

// table is a schema and its record batches, in order. Its holder calls release once.
type table struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
}

func (t *table) release() {
	for _, b := range t.batches {
		b.Release()
	}
}

func (t *table) rows() int64 {
	var n int64
	for _, b := range t.batches {
		n += b.NumRows()
	}
	return n
}

// batchReader is what the readers of files and of Flight streams have in common.
type batchReader interface {
	Schema() *arrow.Schema
	Next() bool
	RecordBatch() arrow.RecordBatch
	Err() error
}

// collect adds the batches of r.
func (t *table) collect(r batchReader) error {
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		t.batches = append(t.batches, b)
	}
	return r.Err()
}

// tables lists the stream files of a folder, in the order of their names.
func tables(folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("no %s file in %s", suffix, folder)
	}
	return paths, err
}

func nameOf(path string) string {
	return strings.TrimSuffix(filepath.Base(path), suffix)
}

// readFile reads all of a stream file.
func readFile(path string) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := ipc.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	t := &table{schema: r.Schema()}
	if err := t.collect(r); err != nil {
		t.release()
		return nil, err
	}
	return t, nil
}
