package main

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/flight/identity"
	"github.com/flightcache/flightcache/flight/permissions"
	"github.com/flightcache/flightcache/flight/secure"
)

// authFlags are by what the server knows its callers, and what they may do.
type authFlags struct {
	AuthTokens       string        `help:"File of lines NAME:SHA256 of bearer tokens (flightcache secret token). Read again when it changes, as all such files are." type:"path" placeholder:"FILE"`
	AuthPasswords    string        `help:"File of lines NAME:BCRYPT of users, as htpasswd -B and flightcache secret password write them." type:"path" placeholder:"FILE"`
	AuthKey          string        `help:"File of keys of signed tokens, one a line: the first signs, all are taken. Servers of a group have the same. Default with --auth-passwords: a random one." type:"path" placeholder:"FILE"`
	AuthCertificates bool          `help:"Know clients by the subjects of their certificates."`
	TokenTime        time.Duration `help:"How long the token is good that answers a password." default:"1h"`
	JWTKeys          string        `name:"jwt-keys" help:"File of the keys of JSON web tokens (JWKS)." type:"path" placeholder:"FILE"`
	JWTIssuer        string        `name:"jwt-issuer" help:"Issuer that JSON web tokens must have." placeholder:"TEXT"`
	JWTAudience      string        `name:"jwt-audience" help:"Audience that JSON web tokens must have." placeholder:"TEXT"`
	JWTRoles         string        `name:"jwt-roles" help:"Claim of JSON web tokens whose values are roles." default:"roles" placeholder:"CLAIM"`
	Permissions      string        `help:"YAML file of what callers may do with which datasets. Default: whoever is known may do everything." type:"path" placeholder:"FILE"`
}

// identityOptions log to log, if there is one.
func (f *authFlags) identityOptions(log *zap.Logger) identity.Options {
	o := identity.Options{
		TokensFile: f.AuthTokens, PasswordsFile: f.AuthPasswords, KeyFile: f.AuthKey, TokenTime: f.TokenTime,
		JWKSFile: f.JWTKeys, Issuer: f.JWTIssuer, Audience: f.JWTAudience, RoleClaim: f.JWTRoles, Certificates: f.AuthCertificates,
	}
	if log != nil {
		o.Changed = func(file string) { log.Info("identity: a file has changed", zap.String("file", file)) }
		o.Failed = func(file string, err error) { stays(log, file, err) }
	}
	return o
}

// stays logs that a changed file is of no use.
func stays(log *zap.Logger, file string, err error) {
	log.Error("a file has changed but is of no use; what was read before stays", zap.String("file", file), zap.Error(err))
}

// validateAuth reports, all at once, what is wrong with the flags taken together.
func (c *serveCmd) validateAuth() error {
	o := c.identityOptions(nil)
	errs := []error{o.Validate()}
	if c.Permissions != "" && !o.Any() {
		errs = append(errs, errors.New("--permissions: nobody is known whom they could be for; give --auth-tokens, --auth-passwords, --auth-key, --jwt-keys or --auth-certificates"))
	}
	asked := false
	for _, uri := range c.Listen {
		a, err := parseListen(uri)
		if err != nil {
			continue // it is reported elsewhere
		}
		if kind := c.secureOptions(a).ClientAuth; a.tls && kind != secure.ClientNone && kind != "" {
			asked = true
		}
	}
	if c.AuthCertificates && !asked {
		errs = append(errs, errors.New("--auth-certificates: a certificate is asked for at no address; want grpc+tls:// and --tls-client-auth"))
	}
	return errors.Join(errs...)
}

// who is what the flags open. Both may be nil.
type who struct {
	identity    *identity.Authority
	permissions *permissions.File
}

func (w *who) close() {
	if w.identity != nil {
		w.identity.Close()
	}
	if w.permissions != nil {
		w.permissions.Close()
	}
}

// openAuth reads the files. The caller closes it.
func (f *authFlags) openAuth(log *zap.Logger) (*who, error) {
	w := &who{}
	o := f.identityOptions(log)
	if !o.Any() {
		return w, nil
	}
	var errs [2]error
	w.identity, errs[0] = identity.Open(o)
	if f.Permissions != "" {
		w.permissions, errs[1] = permissions.Open(f.Permissions,
			func() { log.Info("permissions have changed", zap.String("file", f.Permissions)) },
			func(err error) { stays(log, f.Permissions, err) })
	}
	if err := errors.Join(errs[:]...); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}
