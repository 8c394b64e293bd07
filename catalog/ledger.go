package catalog

import "fmt"

// Share is what one put counts in a [Ledger] while it is under way.
type Share interface {
	// Release takes it off the count. It may be called more than once, and does not block.
	Release()
}

// Ledger counts the stored bytes of datasets, to bound them. Its methods are called with the catalogue's lock held, and do not
// block.
type Ledger interface {
	// Fits has shares count what they come to together: the stored bytes that are about to be added to their dataset, or to
	// replace it. On an error nothing changes, and the commit fails with it.
	Fits(shares []Share, bytes int64) error
	// Sized tells the stored bytes of a dataset, 0 where there is none any more, which these shares have become: they are
	// released.
	Sized(dataset string, bytes int64, shares []Share)
}

// fits tells whether a put may be committed, as far as bounds of the catalogue and of the ledger go. The lock is held.
func (m *making) fits() error {
	c := m.put.c
	if err := c.mayMake(m.g.Dataset); err != nil && m.old == nil {
		return err
	}
	if c.ledger == nil || len(m.put.shares) == 0 {
		return nil
	}
	grown := m.g.Stored
	if m.put.mode == Append && m.old != nil {
		grown -= m.old.Stored
	}
	return c.ledger.Fits(m.put.shares, grown)
}

// mayMake tells whether there may be one more dataset. Those that are being kept for the first time count: they are about to be
// there. The lock is held, if only for reading.
func (c *Catalog) mayMake(name string) error {
	if c.maxDatasets == 0 {
		return nil
	}
	n := len(c.datasets)
	for other := range c.reserved {
		if c.datasets[other] == nil && other != name {
			n++
		}
	}
	if n < c.maxDatasets || c.datasets[name] != nil {
		return nil
	}
	return fmt.Errorf("%w: there are %d datasets, the most that there may be (option --max-datasets); drop one first", ErrTooMany, n)
}

// sized tells the ledger what a dataset comes to. The lock is held.
func (c *Catalog) sized(dataset string, bytes int64, shares []Share) {
	if c.ledger != nil {
		c.ledger.Sized(dataset, bytes, shares)
	}
}
