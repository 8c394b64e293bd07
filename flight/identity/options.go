package identity

import (
	"errors"
	"fmt"
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

	JWKSFile  string // keys of JSON web tokens
	Issuer    string // that they must have
	Audience  string // of which they must have one
	RoleClaim string // of which the values are roles: a list, or one text with spaces; default roles

	Certificates bool // clients are known by their certificates

	// Changed is told of each file that was read again; may be nil.
	Changed func(file string)
	// Failed is told why a changed file is not used; may be nil.
	Failed func(file string, err error)

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
	return o.TokensFile != "" || o.PasswordsFile != "" || o.KeyFile != "" || o.JWKSFile != "" || o.Certificates
}

// Validate reports every field that is out of its range.
func (o Options) Validate() error {
	var errs []error
	if o.TokenTime < 0 {
		errs = append(errs, fmt.Errorf("token time %s: want none below 0 (option --token-time)", o.TokenTime))
	}
	if o.JWKSFile != "" && (o.Issuer == "" || o.Audience == "") {
		errs = append(errs, errors.New("JSON web tokens: without an issuer and an audience tokens made for others would be taken "+
			"(options --jwt-issuer, --jwt-audience)"))
	}
	if o.JWKSFile == "" && (o.Issuer != "" || o.Audience != "") {
		errs = append(errs, errors.New("JSON web tokens: an issuer or an audience, but no keys (option --jwt-keys)"))
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
