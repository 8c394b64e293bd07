package flight

import (
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/flight/limits"
)

// LedgerOf makes quotas the ledger of a catalogue: it is its Options.Ledger. The service has the same ones in its [Options]. Nil
// gives none.
func LedgerOf(q *limits.Quotas) catalog.Ledger {
	if q == nil {
		return nil
	}
	return ledger{q}
}

type ledger struct{ quotas *limits.Quotas }

// Fits is as of catalog.Ledger.
func (l ledger) Fits(shares []catalog.Share, bytes int64) error {
	return l.quotas.Fits(sharesOf(shares), bytes)
}

// Sized is as of catalog.Ledger.
func (l ledger) Sized(dataset string, bytes int64, shares []catalog.Share) {
	l.quotas.Sized(dataset, bytes, sharesOf(shares))
}

// sharesOf are the quotas' own shares.
func sharesOf(shares []catalog.Share) []*limits.Share {
	out := make([]*limits.Share, 0, len(shares))
	for _, s := range shares {
		if own, is := s.(*limits.Share); is {
			out = append(out, own)
		}
	}
	return out
}

// share begins what the put counts in the quotas, if there are any: as an addition to its dataset, or with the other puts of its
// transaction as what replaces it.
func (p *put) beginShare() {
	mode, together := commitMode(p.command.Mode), any(p)
	if p.transaction != nil {
		mode, together = p.transaction.Mode, any(p.transaction)
	}
	if mode == catalog.Append {
		together = nil
	}
	p.share = p.server.opts.Quotas.Begin(p.call.dataset, together)
}
