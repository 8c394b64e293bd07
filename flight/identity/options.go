package identity

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Options say by what callers may be known: each file by which none is given is "".
type Options struct {
	TokensFile    string // lines NAME:SHA256, the hash in hex
	PasswordsFile string // lines NAME:BCRYPT, as htpasswd -B writes them
	// KeyFile has keys of signed tokens, in hex or base64, one a line: the first signs, and all are taken. "" with passwords: a
	// random key, which ends with the process.
	KeyFile   string
	TokenTime time.Duration // how long signed tokens are good; default 1 h

	JWKSFile string // keys of JSON web tokens
	JWKSURL  string // where their issuer publishes them, in place of a file
	Issuer   string // that they must have
	Audience string // of which they must have one
	// RoleClaim is the claim of which the values are roles: a list, or one text with spaces. With dots it may be one within others, as
	// realm_access.roles. Default roles.
	RoleClaim string

	// Insecure lets keys come by http from other machines.
	Insecure bool
	// Transport is what fetches; nil: Go's own, which goes by the proxies of the environment.
	Transport http.RoundTripper

	Certificates bool // clients are known by their certificates

	// Changed is told of each file or URL that was read again; may be nil.
	Changed func(source string)
	// Failed is told why what was read before stays; may be nil.
	Failed func(source string, err error)

	// Delay is what a failure takes; default 250 ms, negative: nothing.
	Delay time.Duration
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Defaults of [Options].
const (
	DefaultTokenTime = time.Hour
	DefaultRoleClaim = "roles"
	DefaultDelay     = 250 * time.Millisecond
)

// Any tells whether there is anything by which a caller may be known.
func (o Options) Any() bool {
	return o.TokensFile != "" || o.PasswordsFile != "" || o.KeyFile != "" || o.webTokens() || o.Certificates
}

func (o Options) webTokens() bool { return o.JWKSFile != "" || o.JWKSURL != "" }

// Validate reports every field that is out of its range.
func (o Options) Validate() error {
	var errs []error
	if o.TokenTime < 0 {
		errs = append(errs, fmt.Errorf("token time %s: want none below 0 (option --token-time)", o.TokenTime))
	}
	if o.webTokens() && (o.Issuer == "" || o.Audience == "") {
		errs = append(errs, errors.New("JSON web tokens: without an issuer and an audience tokens made for others would be taken "+
			"(options --jwt-issuer, --jwt-audience)"))
	}
	if !o.webTokens() && (o.Issuer != "" || o.Audience != "") {
		errs = append(errs, errors.New("JSON web tokens: an issuer or an audience, but no keys (options --jwt-keys, --jwt-keys-url)"))
	}
	if o.JWKSFile != "" && o.JWKSURL != "" {
		errs = append(errs, errors.New("JSON web tokens: keys of a file and of a URL: want one of them (options --jwt-keys, --jwt-keys-url)"))
	}
	if o.JWKSURL != "" {
		u, err := url.Parse(o.JWKSURL)
		if err == nil {
			err = checkURL(u, o.Insecure)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("JSON web tokens: keys of %s: %w (option --jwt-keys-url)", o.JWKSURL, err))
		}
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	if o.TokenTime == 0 {
		o.TokenTime = DefaultTokenTime
	}
	if o.RoleClaim == "" {
		o.RoleClaim = DefaultRoleClaim
	}
	if o.Delay == 0 {
		o.Delay = DefaultDelay
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
