package flight

import (
	"github.com/flightcache/flightcache/batchstore"
	"github.com/flightcache/flightcache/catalog"
)

// ChargeTo has a catalogue's own memory count to a store's budget: it is the Options.Charge of a catalogue.
func ChargeTo(store *batchstore.Store) func(n int64) (catalog.Charge, error) {
	return charging(store.Charge)
}

// charging makes the store's charges the catalogue's.
func charging(charge func(n int64) (*batchstore.Charge, error)) func(n int64) (catalog.Charge, error) {
	return func(n int64) (catalog.Charge, error) {
		c, err := charge(n)
		if err != nil {
			return nil, err // no charge, and not one that is nil
		}
		return c, nil
	}
}

// asHolder makes a schema's reference, which may be nil, the catalogue's.
func asHolder(s *batchstore.Schema) catalog.Holder {
	if s == nil {
		return nil
	}
	return s
}
