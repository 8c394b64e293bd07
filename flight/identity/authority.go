package identity

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"runtime"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flightcache/flightcache/flight/reload"
)

// maxRemembered is how many passwords that were right are remembered.
const maxRemembered = 4096

// Authority tells who calls. It may be used by any number of goroutines, and belongs to who opened it, who closes it.
type Authority struct {
	opts   Options
	secret hash // of the process alone

	tokens    *reload.Value[tokens]
	passwords *reload.Value[*passwords]
	keys      *reload.Value[keys]
	webKeys   *reload.Value[[]webKey]
	fetcher   *fetcher // of webKeys; nil: they are in a file
	own       keys     // where no file has any

	remembered *lru.Cache[hash, struct{}] // sealed names, passwords and hashes that were right
	checking   chan struct{}              // has room for as many passwords as are checked at once
	gates      gates
	slow       slow
	closers    []func()
}

// Open reads the files, and fetches what is published elsewhere. Where that fails for now, [Options].Failed is told, and it is tried
// again.
func Open(o Options) (*Authority, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	o = o.withDefaults()
	a := &Authority{opts: o, checking: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), slow: slow{delay: o.Delay}}
	rand.Read(a.secret[:]) // never fails, by its documentation
	var err error
	if a.remembered, err = lru.New[hash, struct{}](maxRemembered); err != nil {
		return nil, err
	}
	errs := []error{
		watch(a, o.TokensFile, "tokens", a.parseTokens, &a.tokens),
		watch(a, o.PasswordsFile, "passwords", parsePasswords, &a.passwords),
		watch(a, o.KeyFile, "keys of signed tokens", parseKeys, &a.keys),
		watch(a, o.JWKSFile, "keys of JSON web tokens", parseWebKeys, &a.webKeys),
		a.openFetched(),
	}
	if err := errors.Join(errs...); err != nil {
		a.Close()
		return nil, err
	}
	if o.PasswordsFile != "" && o.KeyFile == "" {
		a.own = randomKeys()
	}
	return a, nil
}

// watch opens a file, if there is one.
func watch[T any](a *Authority, path, what string, parse func([][]byte) (T, error), into **reload.Value[T]) error {
	if path == "" {
		return nil
	}
	v, err := reload.Open(reload.Options[T]{
		Files: []string{path},
		Parse: func(contents [][]byte) (T, error) {
			v, err := parse(contents)
			if err != nil {
				return v, fmt.Errorf("%s: %s: %w", what, path, err)
			}
			return v, nil
		},
		Changed: func(T) { a.opts.Changed(path) },
		Failed:  func(err error) { a.opts.Failed(path, err) },
	})
	if err != nil {
		return err
	}
	*into = v
	a.closers = append(a.closers, v.Close)
	return nil
}

// Close ends the looking at files. It is called once.
func (a *Authority) Close() {
	for _, f := range a.closers {
		f()
	}
}

// Shown is what a call and its connection show.
type Shown struct {
	Authorization []string // values of the header
	Tokens        []string // values of auth-token-bin, in which clients of the older handshake send their token
	// Certificate is one that TLS has verified; nil: none.
	Certificate *x509.Certificate
	From        string // the address of the client, without its port
}

// Identify tells who calls. The token, if it is not "", is the answer to a password: the client may show it from now on. The
// error is [ErrUnauthenticated], or the context's.
func (a *Authority) Identify(ctx context.Context, s Shown) (c Caller, token string, err error) {
	switch {
	case len(s.Authorization)+len(s.Tokens) > 1:
		return c, "", a.failed(ctx, "more than one credential")
	case len(s.Authorization) == 1:
		scheme, value, _ := strings.Cut(strings.TrimSpace(s.Authorization[0]), " ")
		value = strings.TrimSpace(value)
		switch {
		case value == "":
			return c, "", a.failed(ctx, "an authorization header without a credential")
		case strings.EqualFold(scheme, "bearer"):
			return a.bearer(ctx, value)
		case strings.EqualFold(scheme, "basic"):
			name, password, ok := basic(value)
			if !ok {
				return c, "", a.failed(ctx, "malformed Basic credentials")
			}
			return a.Login(ctx, name, password, s.From)
		}
		return c, "", a.failed(ctx, "an authorization header of a scheme that is neither Basic nor Bearer")
	case len(s.Tokens) == 1:
		return a.bearer(ctx, s.Tokens[0])
	case s.Certificate != nil && a.opts.Certificates:
		if a.opts.Now().After(s.Certificate.NotAfter) {
			return c, "", a.failed(ctx, "the certificate has expired")
		}
		return Caller{Name: s.Certificate.Subject.String(), Kind: ByCertificate, Expires: s.Certificate.NotAfter}, "", nil
	}
	return c, "", a.failed(ctx, "nothing was shown")
}

// Login tells who a name and a password are, and gives a token for them.
func (a *Authority) Login(ctx context.Context, name, password, from string) (Caller, string, error) {
	c, mark, err := a.password(ctx, from, name, password)
	if err != nil {
		return Caller{}, "", err
	}
	return c, a.issue(c.Name, nil, mark), nil
}

func (a *Authority) bearer(ctx context.Context, token string) (Caller, string, error) {
	if c, ok := a.static(token); ok {
		return c, "", nil
	}
	c, why := Caller{}, "an unknown token"
	switch {
	case strings.HasPrefix(token, signedPrefix):
		if a.signing() != nil {
			c, why = a.signed(token)
		}
	case strings.Count(token, ".") == 2 && a.webKeys != nil:
		c, why = a.jwt(ctx, token)
	}
	if why != "" {
		return Caller{}, "", a.failed(ctx, why)
	}
	return c, "", nil
}

// failed takes its time, and gives the error.
func (a *Authority) failed(ctx context.Context, reason string) error {
	a.slow.waitBounded(ctx)
	return refuse(reason)
}

// guessed is failed of a password that was compared, behind its address's gate.
func (a *Authority) guessed(ctx context.Context, reason string) error {
	a.slow.wait(ctx)
	return refuse(reason)
}
