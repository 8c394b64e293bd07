package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// openAudit gives the logger of the audit, nil for none, and its file, nil for none, which the caller closes.
func openAudit(where string, logs *logs) (*zap.Logger, *auditFile, error) {
	switch where {
	case auditOff:
		return nil, nil, nil
	case auditLog:
		return logs.always.Named("audit"), nil, nil
	case auditStderr:
		return zap.New(zapcore.NewCore(jsonEncoder(), logs.sink, zapcore.InfoLevel)).Named("audit"), nil, nil
	}
	f := &auditFile{path: where, log: logs.log}
	if err := f.open(); err != nil {
		return nil, nil, fmt.Errorf("--audit %s: %w", where, err)
	}
	quiet := zap.ErrorOutput(zapcore.AddSync(io.Discard)) // the file tells what is wrong with it
	return zap.New(zapcore.NewCore(jsonEncoder(), f, zapcore.InfoLevel), quiet).Named("audit"), f, nil
}

// auditFile appends lines to a file, and makes it anew where another program has moved it away. What cannot be written is told in
// the log and by a metric, and the server goes on: who wants every line watches that. Nil is no file.
type auditFile struct {
	path string
	log  *zap.Logger

	mu     sync.Mutex
	f      *os.File // nil: it could not be made anew
	looked time.Time
	failed bool // since the last line that was written
	lost   atomic.Int64
}

// metric counts the lines that could not be written.
func (a *auditFile) metric() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "flightcache_audit_lines_lost_total", Help: "Lines of the audit that could not be written to its file.",
	}, func() float64 {
		if a == nil {
			return 0
		}
		return float64(a.lost.Load())
	})
}

// lookEvery is how often it is looked whether the file is still the one of its name.
const lookEvery = time.Second

func (a *auditFile) open() (err error) {
	a.looked = time.Now()
	a.f, err = os.OpenFile(a.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return err
}

// Write appends one line.
func (a *auditFile) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.write(line); err != nil {
		if !a.failed {
			a.log.Error("the audit cannot be written, and goes on where it can be again", zap.Error(err))
		}
		a.failed = true
		a.lost.Add(1)
		return 0, err
	}
	if a.failed {
		a.log.Warn("the audit is written again; lines are missing", zap.String("file", a.path))
	}
	a.failed = false
	return len(line), nil
}

func (a *auditFile) write(line []byte) error {
	if a.f == nil || time.Since(a.looked) >= lookEvery && a.moved() {
		if a.f != nil {
			a.f.Close()
			a.f = nil
		}
		if err := a.open(); err != nil {
			a.f = nil
			return err
		}
	}
	_, err := a.f.Write(line)
	return err
}

// moved tells whether the file is not the one of its name any more.
func (a *auditFile) moved() bool {
	a.looked = time.Now()
	there, err := os.Stat(a.path)
	if err != nil {
		return os.IsNotExist(err)
	}
	own, err := a.f.Stat()
	return err == nil && !os.SameFile(there, own)
}

// Sync has the disk have what was written.
func (a *auditFile) Sync() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f == nil {
		return nil
	}
	return a.f.Sync()
}

func (a *auditFile) close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f == nil {
		return
	}
	err := a.f.Sync()
	if closed := a.f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		a.log.Error("the audit's last lines may be missing", zap.Error(err))
	}
	a.f = nil
}
