package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// maxPassword is the most bytes of a password: bcrypt does not look at more.
const maxPassword = 72

// maxCost is the highest cost of a hash. One more doubles the time that a guess takes, which is a second here.
const maxCost = 14

// passwords are the bcrypt hashes of users.
type passwords struct {
	users map[string][]byte
	most  int // the highest cost of all
}

// nobody is a hash of no password, of a cost. Nobody knows what it would be of, and to compare it takes as long as any of this cost.
func nobody(cost int) []byte { return fmt.Appendf(nil, "$2a$%02d$%s", cost, strings.Repeat(".", 53)) }

// level spends the time by which comparing a hash of a cost is quicker than one of the highest: else how long a wrong guess takes would
// tell which names there are. Each cost takes twice the time of the one below, so those from the cost on to the highest make up for it.
func (p *passwords) level(cost int, compare func(hash []byte)) {
	for ; cost < p.most; cost++ {
		compare(nobody(cost))
	}
}

func parsePasswords(contents [][]byte) (*passwords, error) {
	list, err := lines(contents[0])
	if err != nil {
		return nil, err
	}
	p := &passwords{users: map[string][]byte{}, most: bcrypt.MinCost}
	var errs []error
	for _, l := range list {
		cost, err := bcrypt.Cost([]byte(l.value))
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("line %d: password of %q: want a bcrypt hash, as htpasswd -B writes it", l.line, l.name))
		case cost > maxCost:
			errs = append(errs, fmt.Errorf("line %d: password of %q: cost %d is more than %d, which takes a second a check", l.line, l.name, cost, maxCost))
		case p.users[l.name] != nil:
			errs = append(errs, fmt.Errorf("line %d: user %q is there twice", l.line, l.name))
		default:
			p.users[l.name], p.most = []byte(l.value), max(p.most, cost)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// mark is a part of a hash of a password's hash: a token that has it ends with the password.
func mark(hash []byte) string {
	h := sha256.Sum256(hash)
	return base64.RawURLEncoding.EncodeToString(h[:9])
}

// password finds the caller of a name and a password, from an address. The user's mark goes with it.
func (a *Authority) password(ctx context.Context, from, name, password string) (Caller, string, error) {
	if a.passwords == nil {
		return Caller{}, "", a.failed(ctx, "passwords are not taken")
	}
	known := a.passwords.Get()
	stored, exists := known.users[name]
	if exists {
		key := a.seal([]byte(name), []byte(password), stored)
		if a.remembered.Contains(key) {
			return Caller{Name: name, Kind: ByPassword}, mark(stored), nil
		}
	}
	leave, err := a.gates.enter(ctx, from)
	if err != nil {
		return Caller{}, "", err
	}
	defer leave() // after the delay of a failure: the next guess waits for it
	select {
	case a.checking <- struct{}{}:
	case <-ctx.Done():
		return Caller{}, "", ctx.Err()
	}
	guess := []byte(password)
	long := len(guess) > maxPassword
	if long {
		guess = guess[:maxPassword]
	}
	compared := stored
	if !exists {
		compared = nobody(known.most)
	}
	if err = bcrypt.CompareHashAndPassword(compared, guess); err != nil || long {
		if cost, err := bcrypt.Cost(compared); err == nil {
			known.level(cost, func(hash []byte) { _ = bcrypt.CompareHashAndPassword(hash, guess) })
		}
	}
	<-a.checking
	switch {
	case !exists:
		return Caller{}, "", a.guessed(ctx, "there is no such user")
	case err != nil || long:
		return Caller{}, "", a.guessed(ctx, fmt.Sprintf("wrong password for user %q", name))
	}
	a.remembered.Add(a.seal([]byte(name), []byte(password), stored), struct{}{})
	return Caller{Name: name, Kind: ByPassword}, mark(stored), nil
}

// basic takes apart what comes behind Basic.
func basic(value string) (name, password string, ok bool) {
	text, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		if text, err = base64.RawStdEncoding.DecodeString(value); err != nil {
			return "", "", false
		}
	}
	name, password, ok = strings.Cut(string(text), ":")
	return name, password, ok && name != ""
}

// PasswordLine is the line of a passwords file for a user. The cost of 0 is bcrypt's default.
func PasswordLine(name, password string, cost int) (string, error) {
	if name == "" || strings.ContainsAny(name, ":#\r\n") {
		return "", fmt.Errorf("user %q: want a name without colon and number sign", name)
	}
	if len(password) > maxPassword {
		return "", fmt.Errorf("a password of %d bytes: want at most %d, as bcrypt does not look at more", len(password), maxPassword)
	}
	h, err := bcrypt.GenerateFromPassword([]byte(password), cmp.Or(cost, bcrypt.DefaultCost))
	return name + ":" + string(h), err
}
