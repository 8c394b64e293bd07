package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/flightcache/flightcache/flight/reload"
)

// How keys are fetched.
const (
	fetchEvery   = 5 * time.Minute
	fetchTimeout = 5 * time.Second
	// fetchFloor is the least time between two tries: who shows tokens of made-up keys brings about no more of them.
	fetchFloor   = 10 * time.Second
	maxSet       = 1 << 20 // bytes of a key set
	maxRedirects = 3
)

// fetcher reads a key set from where its issuer publishes it.
type fetcher struct {
	url      string
	insecure bool // it may come unencrypted from another machine
	client   http.Client
	now      func() time.Time

	last atomic.Int64  // when the last try began, in nanoseconds since 1970
	turn chan struct{} // has room for one who has it fetched out of its time
}

// checkURL tells what is wrong with an address of keys. Who could change them on their way could make tokens for anyone.
func checkURL(u *url.URL, insecure bool) error {
	switch host := u.Hostname(); {
	case host == "":
		return errors.New("it names no host")
	case u.Scheme == "https":
	case u.Scheme != "http":
		return fmt.Errorf("scheme %q: want https", u.Scheme)
	case !insecure && host != "localhost" && !net.ParseIP(host).IsLoopback():
		return errors.New("keys that come unencrypted could be anyone's; want https")
	}
	return nil
}

func newFetcher(o Options) *fetcher {
	f := &fetcher{url: o.JWKSURL, insecure: o.Insecure, now: o.Now, turn: make(chan struct{}, 1)}
	f.client.Transport = o.Transport
	f.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return checkURL(r.URL, f.insecure)
	}
	return f
}

// read fetches the set.
func (f *fetcher) read(ctx context.Context) ([][]byte, error) {
	f.last.Store(f.now().UnixNano())
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	answer, err := f.client.Do(request)
	if err != nil {
		return nil, err // it names the URL
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", f.url, answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxSet+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.url, err)
	}
	if len(body) > maxSet {
		return nil, fmt.Errorf("%s: it is larger than %d bytes", f.url, maxSet)
	}
	return [][]byte{body}, nil
}

// openFetched has the keys fetched. That it fails keeps nobody from starting: others may be known by other means, and the keys
// come when their server does.
func (a *Authority) openFetched() error {
	if a.opts.JWKSURL == "" {
		return nil
	}
	a.fetcher = newFetcher(a.opts)
	parse := func(contents [][]byte) ([]webKey, error) {
		keys, err := publishedKeys(contents)
		if err != nil {
			return nil, fmt.Errorf("keys of JSON web tokens: %s: %w", a.opts.JWKSURL, err)
		}
		return keys, nil
	}
	v, err := reload.Open(reload.Options[[]webKey]{
		Read: a.fetcher.read, Parse: parse, Every: fetchEvery, Retry: fetchFloor, Later: true,
		Changed: func([]webKey) { a.opts.Changed(a.opts.JWKSURL) },
		Failed:  func(err error) { a.opts.Failed(a.opts.JWKSURL, err) },
	})
	if err != nil {
		return err
	}
	a.webKeys = v
	a.closers = append(a.closers, v.Close)
	return nil
}

// fresher gives the keys after a try to fetch newer ones, unless one was a moment ago. It waits for one that
// another token has brought about.
func (a *Authority) fresher(ctx context.Context) []webKey {
	if a.fetcher == nil {
		return a.webKeys.Get()
	}
	select {
	case a.fetcher.turn <- struct{}{}:
		defer func() { <-a.fetcher.turn }()
	case <-ctx.Done():
		return a.webKeys.Get()
	}
	if a.opts.Now().Sub(time.Unix(0, a.fetcher.last.Load())) >= fetchFloor {
		a.webKeys.Look()
	}
	return a.webKeys.Get()
}
