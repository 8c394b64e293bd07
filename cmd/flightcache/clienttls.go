package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// identityFlags are how a client subcommand knows the server, and the server it. Their names are none of serve's, as both may be
// set in one config file.
type identityFlags struct {
	CA         string `name:"ca" help:"Certificates by which the server's is verified, PEM; default: the system's." type:"path" placeholder:"FILE"`
	ServerName string `help:"Name to expect in the server's certificate; default: the address's host." placeholder:"NAME"`
	ClientCert string `help:"Certificate to show to the server, PEM." type:"path" placeholder:"FILE"`
	ClientKey  string `help:"The key of --client-cert, PEM." type:"path" placeholder:"FILE"`
	Token      string `help:"Bearer token. Other users of this machine see what is on a command line: better set FLIGHTCACHE_TOKEN, or give --token-file." placeholder:"TOKEN"`
	TokenFile  string `help:"File with the bearer token." type:"path" placeholder:"FILE"`
	User       string `help:"User to log in as, with the password in FLIGHTCACHE_PASSWORD or --password-file." placeholder:"NAME"`
	Password   string `help:"Password of --user. Better set FLIGHTCACHE_PASSWORD, or give --password-file." placeholder:"PASSWORD"`

	PasswordFile string `help:"File with the password of --user." type:"path" placeholder:"FILE"`
}

// dialOptions are what a connection needs to be trusted from both sides.
func (f *identityFlags) dialOptions(target string, encrypted bool) ([]grpc.DialOption, error) {
	header, err := f.authorization()
	if err != nil {
		return nil, err
	}
	transport := insecure.NewCredentials()
	if encrypted {
		config, err := f.tlsConfig()
		if err != nil {
			return nil, err
		}
		transport = credentials.NewTLS(config)
	} else if f.CA != "" || f.ServerName != "" || f.ClientCert != "" || f.ClientKey != "" {
		return nil, errors.New("--ca, --server-name, --client-cert, --client-key: they are for addresses with TLS, grpc+tls://HOST:PORT")
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport)}
	if header == "" {
		return options, nil
	}
	if !encrypted && !staysHere(target) {
		return nil, errors.New("a token or password would be sent for anyone on the way to read; use grpc+tls://HOST:PORT")
	}
	return append(options, grpc.WithPerRPCCredentials(perCall{header})), nil
}

// staysHere tells whether what is sent to a target does not leave this machine.
func staysHere(target string) bool {
	if strings.HasPrefix(target, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(target)
	return err == nil && isLoopback(host)
}

func (f *identityFlags) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--ca %s: there is no certificate in it; want PEM", f.CA)
		}
	}
	if (f.ClientCert == "") != (f.ClientKey == "") {
		return nil, errors.New("--client-cert and --client-key: want both or none")
	}
	if f.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(f.ClientCert, f.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("--client-cert %s with --client-key %s: %w", f.ClientCert, f.ClientKey, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// authorization is the header of each call; "" for none.
func (f *identityFlags) authorization() (string, error) {
	token, err := secret("token", f.Token, f.TokenFile)
	if err != nil {
		return "", err
	}
	password, err := secret("password", f.Password, f.PasswordFile)
	if err != nil {
		return "", err
	}
	switch {
	case token != "" && f.User != "":
		return "", errors.New("--token and --user: want one of them")
	case token != "":
		return "Bearer " + token, nil
	case f.User != "" && strings.Contains(f.User, ":"):
		return "", fmt.Errorf("--user %s: a name has no colon", f.User)
	case f.User != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(f.User+":"+password)), nil
	}
	return "", nil
}

// secret is what a flag or the file of another says.
func secret(flag, value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	if value != "" {
		return "", fmt.Errorf("--%s and --%s-file: want one of them", flag, flag)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--%s-file: %w", flag, err)
	}
	if value = strings.TrimRight(string(text), "\r\n"); value == "" {
		return "", fmt.Errorf("--%s-file %s: it is empty", flag, file)
	}
	return value, nil
}

// perCall is a header that every call sends.
type perCall struct{ authorization string }

// GetRequestMetadata gives the header.
func (p perCall) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": p.authorization}, nil
}

// RequireTransportSecurity lets it be sent in the clear to this machine: dialOptions has looked.
func (perCall) RequireTransportSecurity() bool { return false }
