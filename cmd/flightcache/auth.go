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
	JWTKeysURL       string        `name:"jwt-keys-url" help:"Where the issuer of JSON web tokens publishes their keys, in place of a file: https, or http on this machine. Fetched every five minutes, and when a token names a key that is not known." placeholder:"URL"`
	JWTIssuer        string        `name:"jwt-issuer" help:"Issuer that JSON web tokens must have." placeholder:"TEXT"`
	JWTAudience      string        `name:"jwt-audience" help:"Audience that JSON web tokens must have." placeholder:"TEXT"`
	JWTRoles         string        `name:"jwt-roles" help:"Claim of JSON web tokens whose values are roles; within other claims with dots, as realm_access.roles." default:"roles" placeholder:"CLAIM"`
	Permissions      string        `help:"YAML file of what callers may do with which datasets. Default: whoever is known may do everything." type:"path" placeholder:"FILE"`
}

// identityOptions log to log, if there is one.
func (c *serveCmd) identityOptions(log *zap.Logger) identity.Options {
	o := identity.Options{
		TokensFile: c.AuthTokens, PasswordsFile: c.AuthPasswords, KeyFile: c.AuthKey, TokenTime: c.TokenTime,
		JWKSFile: c.JWTKeys, JWKSURL: c.JWTKeysURL, Issuer: c.JWTIssuer, Audience: c.JWTAudience, RoleClaim: c.JWTRoles,
		Insecure: c.Insecure, Certificates: c.AuthCertificates,
	}
	if log != nil {
		o.Changed = func(source string) {
			if source == c.JWTKeysURL {
				log.Info("identity: keys were fetched", zap.String("url", source))
				return
			}
			log.Info("identity: a file has changed", zap.String("file", source))
		}
		o.Failed = func(source string, err error) {
			if source == c.JWTKeysURL {
				log.Error("identity: no keys could be fetched; those that were fetched before stay", zap.String("url", source), zap.Error(err))
				return
			}
			stays(log, source, err)
		}
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
		errs = append(errs, errors.New("--permissions: nobody is known whom they could be for; give --auth-tokens, --auth-passwords, --auth-key, --jwt-keys, --jwt-keys-url or --auth-certificates"))
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
func (c *serveCmd) openAuth(log *zap.Logger) (*who, error) {
	w := &who{}
	o := c.identityOptions(log)
	if !o.Any() {
		return w, nil
	}
	var errs [2]error
	w.identity, errs[0] = identity.Open(o)
	if c.Permissions != "" {
		w.permissions, errs[1] = permissions.Open(c.Permissions,
			func() { log.Info("permissions have changed", zap.String("file", c.Permissions)) },
			func(err error) { stays(log, c.Permissions, err) })
	}
	if err := errors.Join(errs[:]...); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}
