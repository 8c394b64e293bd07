package secure

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/flightcache/flightcache/flight/reload"
)

// ClientAuth is whether clients are to show certificates.
type ClientAuth string

// Whether clients are to show certificates. One that is shown is always verified.
const (
	ClientNone    ClientAuth = "none"
	ClientRequest ClientAuth = "request"
	ClientRequire ClientAuth = "require"
)

func (a ClientAuth) tls() tls.ClientAuthType {
	switch a {
	case ClientRequest:
		return tls.VerifyClientCertIfGiven
	case ClientRequire:
		return tls.RequireAndVerifyClientCert
	}
	return tls.NoClientCert
}

// Options say where the files are. All of them are PEM.
type Options struct {
	CertFile string // the server's certificate, and those between it and a root
	KeyFile  string
	// ClientCAFile has the certificates by which clients' are verified; "" only with ClientNone.
	ClientCAFile string
	ClientAuth   ClientAuth // default none

	Changed func(*Identity) // is told of each new certificate but the first; may be nil
	Failed  func(error)     // is told why changed files are not used; may be nil
}

// Validate reports every field that is out of its range.
func (o Options) Validate() error {
	var errs []error
	if o.CertFile == "" {
		errs = append(errs, errors.New("no certificate (option --tls-cert)"))
	}
	if o.KeyFile == "" {
		errs = append(errs, errors.New("no key of the certificate (option --tls-key)"))
	}
	switch o.ClientAuth {
	case "", ClientNone:
	case ClientRequest, ClientRequire:
		if o.ClientCAFile == "" {
			errs = append(errs, fmt.Errorf("client certificates %q: nothing to verify them by (option --tls-client-ca)", o.ClientAuth))
		}
	default:
		errs = append(errs, fmt.Errorf("client certificates %q: want none, request or require", o.ClientAuth))
	}
	return errors.Join(errs...)
}

// Identity is what the files make of a server.
type Identity struct {
	Subject string
	Names   []string // the names and addresses that clients may know it by
	Expires time.Time

	config *tls.Config
}

// Expired tells whether clients will not take it any more.
func (i *Identity) Expired(now time.Time) bool { return now.After(i.Expires) }

// Files are the files of one listener, read again when they change. They belong to who opened them, who closes them.
type Files struct{ *reload.Value[*Identity] }

// Open reads the files.
func Open(o Options) (*Files, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	failed := o.Failed
	if failed == nil {
		failed = func(error) {}
	}
	files := []string{o.CertFile, o.KeyFile}
	if o.ClientCAFile != "" {
		files = append(files, o.ClientCAFile)
	}
	v, err := reload.Open(reload.Options[*Identity]{
		Files: files, Parse: o.parse, Changed: o.Changed,
		Failed: func(err error) { failed(fmt.Errorf("TLS: %w", err)) },
	})
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return &Files{v}, nil
}

func (o Options) parse(contents [][]byte) (*Identity, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", o.CertFile, o.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{pair}, ClientAuth: o.ClientAuth.tls(),
		SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true, CipherSuites: suites(),
	}
	if o.ClientCAFile != "" {
		if config.ClientCAs, err = pool(contents[2]); err != nil {
			return nil, fmt.Errorf("certificates of clients' signers %s: %w", o.ClientCAFile, err)
		}
	}
	leaf := pair.Leaf
	i := &Identity{Subject: leaf.Subject.String(), Names: leaf.DNSNames, Expires: leaf.NotAfter, config: config}
	for _, ip := range leaf.IPAddresses {
		i.Names = append(i.Names, ip.String())
	}
	for _, uri := range leaf.URIs {
		i.Names = append(i.Names, uri.String())
	}
	return i, nil
}

// pool reads certificates, all of which must be readable: one that is left out would be missed only when its client comes.
func pool(text []byte) (*x509.CertPool, error) {
	p, n := x509.NewCertPool(), 0
	for {
		var block *pem.Block
		block, text = pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		p.AddCert(c)
		n++
	}
	if n == 0 {
		return nil, errors.New("there is no certificate in it; want PEM")
	}
	return p, nil
}

// suites are those of TLS 1.2 that HTTP/2 allows (RFC 9113, appendix A): with forward secrecy, and authenticated.
func suites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}
