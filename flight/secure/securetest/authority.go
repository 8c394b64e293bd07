package securetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	PEM []byte // its own certificate

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority of a name.
func New(t testing.TB, name string) *Authority {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := &Authority{key: newKey(t)}
	der := sign(t, template, template, &a.key.PublicKey, a.key)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// Issue makes a certificate for the loopback, localhost and a common name, with its key, both PEM. It is for servers and clients.
func (a *Authority) Issue(t testing.TB, name string) (cert, key []byte) {
	return a.Expiring(t, name, time.Now().Add(time.Hour))
}

// Expiring is [Authority.Issue] of a certificate that ends at a time.
func (a *Authority) Expiring(t testing.TB, name string, at time.Time) (cert, key []byte) {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name, Organization: []string{"Flights"}}, NotAfter: at,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	k := newKey(t)
	der := sign(t, template, a.cert, &k.PublicKey, a.key)
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// Pool is the authority as a client's roots.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// Client is how a client trusts the authority. Its own certificate is of that name; "" for none.
func (a *Authority) Client(t testing.TB, name string) *tls.Config {
	t.Helper()
	config := &tls.Config{RootCAs: a.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}}
	if name != "" {
		cert, key := a.Issue(t, name)
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

// Write writes a file in a folder, as a rename into place, and gives its path.
func Write(t testing.TB, folder, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sign(t testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = serial
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	template.NotBefore = template.NotAfter.Add(-48 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
