package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "certificates:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: certificates FOLDER NAME...")
	}
	folder, names := args[0], args[1:]
	authority, authorityKey, err := certificate("authority "+filepath.Base(folder), nil, nil)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(folder, "ca.pem"), "CERTIFICATE", authority.Raw); err != nil {
		return err
	}
	for _, name := range names {
		cert, key, err := certificate(name, authority, authorityKey)
		if err != nil {
			return err
		}
		secret, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, name)
		if err := errors.Join(write(path+".pem", "CERTIFICATE", cert.Raw), write(path+".key", "PRIVATE KEY", secret)); err != nil {
			return err
		}
	}
	return nil
}

// certificate makes one with its key; of an authority that signs itself where there is none.
func certificate(name string, authority *x509.Certificate, authorityKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if authority == nil {
		c = &x509.Certificate{
			SerialNumber: serial, Subject: c.Subject, NotBefore: c.NotBefore, NotAfter: c.NotAfter,
			KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		}
		authority, authorityKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, err
}

// write writes beside the file's place and renames, as who renews a certificate should.
func write(path, kind string, der []byte) error {
	if err := os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
