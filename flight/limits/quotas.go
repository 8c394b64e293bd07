package limits

import (
	"strings"
	"sync"

	"github.com/flightcache/flightcache/descriptors"
)

// Quota is the most stored bytes of all datasets whose names a pattern has.
type Quota struct {
	Names descriptors.Pattern
	Bytes int64
}

// Quotas counts stored bytes: see the package's documentation.
type Quotas struct {
	most   int64 // of one dataset; 0: any
	quotas []Quota

	mu       sync.Mutex
	accounts map[string]*account // of datasets that have bytes, or to which something is put
	totals   []int64             // by quota: what its datasets count
}

// account is that of one dataset.
type account struct {
	dataset   string
	quotas    []int // that its name is in
	committed int64
	shares    map[*Share]struct{} // of running puts
	counts    int64
}

// Share is what one put counts. It belongs to the put, which releases it; its methods do nothing on nil.
type Share struct {
	of       *Quotas
	account  *account // nil: released
	replaces any      // nil: it appends. Shares of one value replace the dataset together
	bytes    int64
}

// NewQuotas counts, with the most stored bytes of one dataset (0: any) and of patterns.
func NewQuotas(dataset int64, quotas []Quota) *Quotas {
	return &Quotas{most: dataset, quotas: quotas, accounts: map[string]*account{}, totals: make([]int64, len(quotas))}
}

// account gives that of a dataset. The lock is held.
func (q *Quotas) account(dataset string) *account {
	a := q.accounts[dataset]
	if a == nil {
		a = &account{dataset: dataset, shares: map[*Share]struct{}{}}
		segments := strings.Split(dataset, "/")
		for i, x := range q.quotas {
			if x.Names.Matches(segments) {
				a.quotas = append(a.quotas, i)
			}
		}
		q.accounts[dataset] = a
	}
	return a
}

// sum is the most that the dataset may come to.
func (a *account) sum() int64 {
	most, appended := a.committed, int64(0)
	var together map[any]int64
	for s := range a.shares {
		if s.replaces == nil {
			appended += s.bytes
			continue
		}
		if together == nil {
			together = map[any]int64{}
		}
		together[s.replaces] += s.bytes
		most = max(most, together[s.replaces])
	}
	return most + appended
}

// settle takes what an account now comes to, and forgets one that counts nothing. The lock is held.
func (q *Quotas) settle(a *account) {
	now := a.sum()
	for _, i := range a.quotas {
		q.totals[i] += now - a.counts
	}
	a.counts = now
	if now == 0 && len(a.shares) == 0 {
		delete(q.accounts, a.dataset)
	}
}

// check tells whether an account may come to what its shares now say. The lock is held.
func (q *Quotas) check(a *account) error {
	now := a.sum()
	more := now - a.counts
	if more <= 0 {
		return nil
	}
	if q.most > 0 && now > q.most {
		return over("max-dataset-size", "dataset %q would have %d stored bytes with what is being put; at most %d are allowed. Put less", a.dataset, now, q.most)
	}
	for _, i := range a.quotas {
		if x := q.quotas[i]; q.totals[i]+more > x.Bytes {
			return over("quota", "datasets %q would have %d stored bytes with what is being put; at most %d are allowed. Drop some, or put less",
				x.Names.String(), q.totals[i]+more, x.Bytes)
		}
	}
	return nil
}

// Begin gives a put to a dataset its share, of nothing yet. What replaces the dataset has a key, which puts that replace it
// together share; nil: the put appends. Nil quotas give nil.
func (q *Quotas) Begin(dataset string, replaces any) *Share {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := &Share{of: q, account: q.account(dataset), replaces: replaces}
	s.account.shares[s] = struct{}{}
	return s
}

// Grow counts n more stored bytes of the put. The error is ErrLimit, and nothing is counted then.
func (s *Share) Grow(n int64) error {
	if s == nil {
		return nil
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.account == nil {
		return nil
	}
	s.bytes += n
	if err := s.of.check(s.account); err != nil {
		s.bytes -= n
		return err
	}
	s.of.settle(s.account)
	return nil
}

// Release takes the share off the count. Further calls do nothing.
func (s *Share) Release() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.drop(s)
}

// drop takes a share out. The lock is held.
func (q *Quotas) drop(s *Share) {
	if a := s.account; a != nil {
		s.account = nil
		delete(a.shares, s)
		q.settle(a)
	}
}

// Fits has shares, all of one dataset, count what they come to together now that it is known: the stored bytes that are about to
// be added to the dataset, or to replace it. The error is ErrLimit, and nothing changes then.
func (q *Quotas) Fits(shares []*Share, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var first *Share
	before := make([]int64, len(shares))
	for i, s := range shares {
		if s == nil || s.account == nil {
			continue
		}
		before[i] = s.bytes
		if s.bytes = 0; first == nil {
			first, s.bytes = s, bytes
		}
	}
	if first == nil {
		return nil
	}
	if err := q.check(first.account); err != nil {
		for i, s := range shares {
			if s != nil && s.account != nil {
				s.bytes = before[i]
			}
		}
		return err
	}
	q.settle(first.account)
	return nil
}

// Sized tells the stored bytes of a dataset, 0 where there is none any more, which these shares have become: they are released.
func (q *Quotas) Sized(dataset string, bytes int64, shares []*Share) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.account(dataset)
	a.committed = bytes
	for _, s := range shares {
		if s != nil && s.account == a {
			s.account = nil
			delete(a.shares, s)
		}
	}
	q.settle(a)
}
