package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/compress"
	"github.com/flightcache/flightcache/descriptors"
)

// loadedExtensions are those of files that --load serves.
var loadedExtensions = []string{".arrow", ".feather", ".ipc"}

// load makes a dataset of each Arrow IPC file in the folder of --load, named after it. A file that cannot be served is left
// out, and the log says why; so is one whose name a durable dataset has. The error is that there is none that can.
func (c *serveCmd) load(ctx context.Context, s *stores, log *zap.Logger) error {
	if c.Load == "" {
		return nil
	}
	files, err := arrowFiles(c.Load)
	if err != nil {
		return fmt.Errorf("--load %s: %w", c.Load, err)
	}
	loaded, hidden := 0, 0
	var reasons []error
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.loadFile(ctx, s, file, log); err != nil {
			log.Warn("left out of --load", zap.String("file", file), zap.Error(err))
			reasons = append(reasons, fmt.Errorf("%s: %w", file, err))
			if errors.Is(err, catalog.ErrExists) {
				hidden++
			}
			continue
		}
		loaded++
	}
	if loaded+hidden > 0 {
		log.Info("loaded", zap.String("folder", c.Load), zap.Int("datasets", loaded), zap.Int("left out", len(reasons)))
		return nil
	}
	if len(files) == 0 {
		return fmt.Errorf("--load %s: no file in it ends with %s", c.Load, strings.Join(loadedExtensions, ", "))
	}
	return fmt.Errorf("--load %s: none of its %d files can be served; the first: %w", c.Load, len(files), reasons[0])
}

// arrowFiles are the files below a folder that may be Arrow IPC files, by their paths in it, in order. What is hidden is
// passed over; a link counts as what it leads to, if that is a file.
func arrowFiles(folder string) (files []string, err error) {
	folder, err = filepath.EvalSymlinks(folder) // a folder that is a link itself is meant
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == folder:
			if !d.IsDir() {
				return errors.New("it is no folder")
			}
			return nil
		case strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !slices.Contains(loadedExtensions, filepath.Ext(path)):
			return nil
		}
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			return nil // a folder of such a name is walked, other things are none of ours
		}
		rel, err := filepath.Rel(folder, path)
		files = append(files, rel) // with a link to nowhere: to open it says so
		return err
	})
	return files, err
}

// loadFile makes a dataset of a file.
func (c *serveCmd) loadFile(ctx context.Context, s *stores, file string, log *zap.Logger) error {
	name, err := descriptors.ParseNameString(filepath.ToSlash(strings.TrimSuffix(file, filepath.Ext(file))))
	if err != nil {
		return err
	}
	schema, batches, err := s.store.Load(filepath.Join(c.Load, file))
	if err != nil {
		return err
	}
	held, err := s.store.Schema(nil, schema.Message()) // the one that the batches have, if there are any
	if err != nil {
		for _, b := range batches {
			b.Release()
		}
		return err
	}
	defer held.Release()
	if err := commitLoaded(ctx, s.names, string(name), held, batches); err != nil {
		for _, b := range batches {
			b.Release()
		}
		return err
	}
	largest := int64(0)
	for _, b := range batches {
		largest = max(largest, b.StoredBytes())
	}
	if c.Memory > 0 && largest > int64(c.Memory) {
		log.Warn("a batch is larger than --memory: reads of all of its columns will fail", zap.String("file", file), zap.Int64("bytes", largest))
	}
	return nil
}

// commitLoaded publishes batches, which are the catalogue's unless it fails.
func commitLoaded(ctx context.Context, names *catalog.Catalog, name string, schema *batchstore.Schema, batches []*batchstore.Batch) error {
	put, err := names.Begin(name, catalog.Create, schema.Schema)
	if err != nil {
		return err
	}
	durable := false
	put.Durable, put.InPlace, put.Held = &durable, true, schema
	codec := compress.None
	list := make([]catalog.Batch, len(batches))
	for i, b := range batches {
		list[i] = b
		codec = batches[0].Codec()
	}
	g, err := put.Commit(ctx, list, codec.String(), nil)
	if err != nil {
		return err
	}
	g.Release()
	return nil
}
