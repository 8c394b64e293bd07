package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// source yields the record batches of a file, in order. Close it once; a batch outlives its source.
type source interface {
	Schema() *arrow.Schema
	// Next returns the next batch, which the caller releases, or io.EOF after the last.
	Next() (arrow.RecordBatch, error)
	Close() error
}

// fileFormat is a format that put reads.
type fileFormat string

const (
	formatAuto    fileFormat = "auto"
	formatIPC     fileFormat = "ipc"     // an Arrow IPC file or stream; which one, the first bytes tell
	formatParquet fileFormat = "parquet" //
	formatCSV     fileFormat = "csv"     //
)

// The first bytes of the formats.
var (
	magicArrow   = []byte("ARROW1")
	magicParquet = []byte("PAR1")
	// magicStream is the continuation mark that begins every message of an IPC stream since Arrow 0.15.
	magicStream = []byte{0xff, 0xff, 0xff, 0xff}

	magicFeather1 = []byte("FEA1")
	magicGzip     = []byte{0x1f, 0x8b}
	magicZstd     = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// sniffBytes is how much of an input is looked at to tell its format.
const sniffBytes = 4096

// errFormat is the error of an input whose format is not what was asked for or cannot be told.
var errFormat = errors.New("unknown format")

// openSource opens the file at path, or standard input for "-". Formats whose index is at the file's end are copied to
// a temporary file first if the input is not a file that can be read at any place. Reads of such an input end when ctx
// does.
func openSource(ctx context.Context, stdin io.Reader, path string, format fileFormat, options csvOptions) (src source, err error) {
	name := path
	in := stdin
	owned := io.Closer(io.NopCloser(nil))
	if path == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err == nil && info.IsDir() {
			f.Close()
			return nil, fmt.Errorf("%s is a directory; put takes one file", path)
		}
		in, owned = f, f
	}
	if _, ok := regularSize(in); !ok {
		in = &interruptible{ctx: ctx, in: in}
	}
	src, err = newSource(in, owned, path, format, options)
	if err != nil {
		owned.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return src, nil
}

// recovered turns a panic of a format's library into the error of the function that defers it: a damaged file must not
// look like a mistake of this program. What it cannot turn is memory that runs out: the Arrow library makes room for as
// many fields as a schema claims to have. Put reads the user's own files; the server checks all that it is sent.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, r)
	}
}

// errDamaged is the error of an input that made its format's library panic.
var errDamaged = errors.New("damaged")

// newSource tells the format and makes its source, which owns closer. On an error the caller keeps it.
func newSource(in io.Reader, closer io.Closer, path string, format fileFormat, options csvOptions) (src source, err error) {
	defer recovered(&err)
	buffered := bufio.NewReaderSize(in, 1<<20)
	head, err := buffered.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	kind, err := tellFormat(head, filepath.Ext(path), format)
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindStream:
		limit := int64(maxStreamBody)
		if size, ok := regularSize(in); ok {
			limit = max(size, 1)
		}
		return newStreamSource(buffered, closer, limit)
	case kindCSV:
		if options.delimiter == 0 {
			options.delimiter = ','
			if ext := strings.ToLower(filepath.Ext(path)); ext == ".tsv" || ext == ".tab" {
				options.delimiter = '\t'
			}
		}
		return newCSVSource(buffered, closer, options)
	}
	file, size, err := seekable(in, buffered)
	if err != nil {
		return nil, err
	}
	if file != in {
		closer = file
	}
	if kind == kindParquet {
		src, err = newParquetSource(file, closer)
	} else {
		src, err = newIPCFileSource(file, size, closer)
	}
	if err != nil && file != in {
		file.Close()
	}
	return src, err
}

// inputKind is what the reader of an input must be.
type inputKind int

const (
	kindFile inputKind = iota
	kindStream
	kindParquet
	kindCSV
)

// tellFormat tells an input's kind by its first bytes, then by its name's extension; text without either is CSV. A
// format that was asked for must agree with what the bytes show.
func tellFormat(head []byte, ext string, asked fileFormat) (inputKind, error) {
	kind, found, known := kindCSV, fileFormat(""), true
	switch {
	case bytes.HasPrefix(head, magicArrow):
		kind, found = kindFile, formatIPC
	case bytes.HasPrefix(head, magicStream):
		kind, found = kindStream, formatIPC
	case bytes.HasPrefix(head, magicParquet):
		kind, found = kindParquet, formatParquet
	default:
		known = false
	}
	if known {
		if asked != formatAuto && asked != found {
			return 0, fmt.Errorf("%w: --format is %s, but it begins as %s does", errFormat, asked, found)
		}
		return kind, nil
	}
	switch asked {
	case formatCSV:
		return kindCSV, nil
	case formatIPC, formatParquet:
		return 0, fmt.Errorf("%w: --format is %s, but it does not begin as %s does", errFormat, asked, asked)
	}
	switch {
	case len(head) == 0:
		return 0, fmt.Errorf("%w: it is empty", errFormat)
	case bytes.HasPrefix(head, magicGzip), bytes.HasPrefix(head, magicZstd):
		return 0, fmt.Errorf("%w: the whole of it is compressed; decompress it and pipe it in: `… | flightcache put - NAME`", errFormat)
	case bytes.HasPrefix(head, magicFeather1):
		return 0, fmt.Errorf("%w: Feather version 1 is not read; write it anew as an Arrow IPC file (Feather version 2)", errFormat)
	}
	switch ext = strings.ToLower(ext); ext {
	case ".csv", ".tsv", ".tab", ".txt":
		return kindCSV, nil
	case ".arrow", ".arrows", ".ipc", ".feather", ".parquet", ".pq":
		return 0, fmt.Errorf("%w: it is named %s but does not begin as such a file does", errFormat, ext)
	}
	if looksLikeText(head) {
		return kindCSV, nil
	}
	return 0, fmt.Errorf("%w: neither Arrow IPC nor Parquet nor text; give --format", errFormat)
}

// looksLikeText tells whether bytes are UTF-8 without NUL; the last character may be cut.
func looksLikeText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 {
			return len(head) < utf8.UTFMax && !utf8.FullRune(head)
		}
		if r == 0 {
			return false
		}
		head = head[n:]
	}
	return true
}

// seekable returns in itself if it is a regular file, at its start, or a temporary file with all that buffered yields.
// The temporary file has no name any more where the system allows that, and closing it removes it.
func seekable(in io.Reader, buffered io.Reader) (*os.File, int64, error) {
	if size, ok := regularSize(in); ok {
		f := in.(*os.File)
		_, err := f.Seek(0, io.SeekStart)
		return f, size, err
	}
	f, err := os.CreateTemp("", "flightcache-put-")
	if err != nil {
		return nil, 0, fmt.Errorf("temporary file: %w", err)
	}
	// An open file needs no name; whatever ends this program then leaves nothing behind.
	os.Remove(f.Name())
	size, err := io.Copy(f, buffered)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("temporary file: %w", err)
	}
	return f, size, nil
}

// interruptible reads an input that may never yield, as a terminal or a pipe, until ctx is done. A read that was given
// up stays behind, into a buffer of its own: the system offers no way to call it back.
type interruptible struct {
	ctx context.Context
	in  io.Reader
	buf []byte
}

func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if len(r.buf) < len(p) {
		r.buf = make([]byte, len(p))
	}
	type readResult struct {
		n   int
		err error
	}
	done := make(chan readResult, 1)
	buf := r.buf[:len(p)]
	go func() {
		n, err := r.in.Read(buf)
		done <- readResult{n, err}
	}()
	select {
	case res := <-done:
		return copy(p, buf[:res.n]), res.err
	case <-r.ctx.Done():
		// The buffer now belongs to the read that was left behind.
		r.buf = nil
		return 0, r.ctx.Err()
	}
}

// regularSize returns the size of in if it is a regular file.
func regularSize(in io.Reader) (int64, bool) {
	f, ok := in.(*os.File)
	if !ok {
		return 0, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// batchBytes is the decoded size of a batch: the length of its buffers, and so an upper bound for a slice, which shares
// them with what it was cut from.
func batchBytes(batch arrow.RecordBatch) int64 {
	var size uint64
	for _, column := range batch.Columns() {
		size += column.Data().SizeInBytes()
	}
	return int64(size)
}
