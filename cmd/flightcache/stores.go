package main

import (
	"errors"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/flight"
	"github.com/flightcache/flightcache/flight/limits"
)

// stores are where a server keeps its data: in memory, and in its data folder if it has one.
type stores struct {
	dir     *dataDir // nil: in memory only
	store   *batchstore.Store
	durable *flight.Durable // nil: as dir
	names   *catalog.Catalog
	quotas  *limits.Quotas // nil: none
}

// openStores opens them, with the datasets of the last run that are durable. What was opened before an error is closed.
func (c *serveCmd) openStores(log *zap.Logger) (s *stores, err error) {
	s = &stores{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	s.quotas = c.quotas()
	o := c.storeOptions()
	o.Report = func(err error) { log.Warn("files", zap.Error(err)) }
	if c.DataDir != "" {
		if s.dir, err = openDataDir(c.DataDir); err != nil {
			return s, err
		}
	}
	if s.store, err = batchstore.New(o); err != nil {
		return s, err
	}
	if s.dir == nil {
		s.names = catalog.New(c.catalogOptions(s, nil))
		return s, nil
	}
	if s.durable, err = flight.OpenDurable(s.store, s.dir.catalog(), log); err != nil {
		return s, err
	}
	s.names = catalog.New(c.catalogOptions(s, s.durable))
	return s, s.durable.Restore(s.names)
}

// close lets go of everything in memory. Files of durable datasets stay, all others go. No call is under way.
func (s *stores) close() (err error) {
	if s.names != nil {
		s.names.ClearVolatile()
		s.store.KeepFiles(true)
		s.names.Clear()
	}
	if s.durable != nil {
		err = s.durable.Close()
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return errors.Join(err, s.dir.close())
}

// restartLine says in the log what a restart will find.
func (c *serveCmd) restartLine() string {
	switch {
	case c.DataDir == "":
		return "datasets are kept in memory only: a restart starts empty"
	case c.Durable:
		return "datasets are durable unless their puts say otherwise: a restart has them again"
	}
	return "datasets are durable only if their puts say so: a restart starts without the others"
}
