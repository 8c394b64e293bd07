package main

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/flightcache/flightcache/flight/identity"
)

// secretCmd makes what serve's files of callers are made of.
type secretCmd struct {
	Token    secretTokenCmd    `cmd:"" help:"Make a bearer token: the token on stdout, the line for --auth-tokens on stderr."`
	Password secretPasswordCmd `cmd:"" help:"Make the line for --auth-passwords of a user, whose password is a line of stdin."`
	Key      secretKeyCmd      `cmd:"" help:"Make a key for --auth-key."`
	Sign     secretSignCmd     `cmd:"" help:"Make a signed token of a caller under a file's first key."`
}

// secretBytes is how much chance is in a token or key.
const secretBytes = 32

func random() string {
	b := make([]byte, secretBytes)
	rand.Read(b) // never fails, by its documentation
	return base64.RawURLEncoding.EncodeToString(b)
}

func checkCaller(name string) error {
	if name == "" || strings.ContainsAny(name, ":#\r\n") {
		return fmt.Errorf("name %q: want one without colon, number sign and line end", name)
	}
	return nil
}

type secretTokenCmd struct {
	Name string `arg:"" help:"The caller's name."`
}

// Run makes a token.
func (c *secretTokenCmd) Run(e *env) error {
	if err := checkCaller(c.Name); err != nil {
		return err
	}
	token := random()
	_, err := fmt.Fprintln(e.stdout, token)
	fmt.Fprintln(e.stderr, identity.TokenLine(c.Name, token))
	return err
}

type secretPasswordCmd struct {
	Name string `arg:"" help:"The user's name."`
}

// Run hashes a password.
func (c *secretPasswordCmd) Run(e *env) error {
	s := bufio.NewScanner(e.stdin)
	if !s.Scan() || s.Text() == "" {
		return errors.Join(errors.New("there is no password on stdin"), s.Err())
	}
	line, err := identity.PasswordLine(c.Name, s.Text(), 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.stdout, line)
	return err
}

type secretKeyCmd struct{}

// Run makes a key.
func (c *secretKeyCmd) Run(e *env) error {
	b := make([]byte, secretBytes)
	rand.Read(b) // never fails, by its documentation
	_, err := fmt.Fprintln(e.stdout, base64.StdEncoding.EncodeToString(b))
	return err
}

type secretSignCmd struct {
	Name string        `arg:"" help:"The caller's name."`
	Key  string        `help:"File of keys, as --auth-key." type:"path" required:"" placeholder:"FILE"`
	Good time.Duration `help:"How long it is good." default:"24h"`
}

// Run signs a token.
func (c *secretSignCmd) Run(e *env) error {
	if err := checkCaller(c.Name); err != nil {
		return err
	}
	text, err := os.ReadFile(c.Key)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	token, err := identity.SignedToken(text, c.Name, time.Now().Add(c.Good))
	if err != nil {
		return fmt.Errorf("--key %s: %w", c.Key, err)
	}
	_, err = fmt.Fprintln(e.stdout, token)
	return err
}
