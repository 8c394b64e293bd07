package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// signedPrefix begins every signed token: the version of its form.
const signedPrefix = "fc1."

// minKey is the least bytes of a key of signed tokens.
const minKey = 32

// keys sign with the first, and take all.
type keys [][]byte

// claims are what a signed token says.
type claims struct {
	Name    string   `json:"n"`
	Roles   []string `json:"r,omitempty"`
	Expires int64    `json:"e"` // in seconds since 1970
	Mark    string   `json:"p,omitempty"`
}

func parseKeys(contents [][]byte) (keys, error) {
	var out keys
	for i, line := range strings.Split(string(contents[0]), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, err := hex.DecodeString(line)
		if err != nil {
			key, err = base64.StdEncoding.DecodeString(line)
		}
		if err != nil || len(key) < minKey {
			return nil, fmt.Errorf("line %d: want a key of at least %d bytes, in hex or base64", i+1, minKey)
		}
		out = append(out, key)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no key in it")
	}
	return out, nil
}

func randomKeys() keys {
	key := make([]byte, minKey)
	rand.Read(key) // never fails, by its documentation
	return keys{key}
}

func (k keys) sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// sign makes a token of claims.
func (k keys) sign(c claims) string {
	body, _ := json.Marshal(c) // texts and numbers
	text := signedPrefix + base64.RawURLEncoding.EncodeToString(body)
	return text + "." + base64.RawURLEncoding.EncodeToString(k.sum(k[0], text))
}

// verify gives the claims of a token that one of the keys has signed.
func (k keys) verify(token string) (c claims, ok bool) {
	i := strings.LastIndexByte(token, '.')
	if i < len(signedPrefix) {
		return c, false
	}
	sum, err := base64.RawURLEncoding.Strict().DecodeString(token[i+1:])
	if err != nil {
		return c, false
	}
	for _, key := range k {
		ok = hmac.Equal(sum, k.sum(key, token[:i])) || ok
	}
	if !ok {
		return c, false
	}
	body, err := base64.RawURLEncoding.Strict().DecodeString(token[len(signedPrefix):i])
	return c, err == nil && json.Unmarshal(body, &c) == nil && c.Name != ""
}

// signing are the keys, as they are now; nil: signed tokens are not taken.
func (a *Authority) signing() keys {
	if a.keys != nil {
		return a.keys.Get()
	}
	return a.own
}

// issue makes a signed token of a caller that was known by a password with a mark; "" without.
func (a *Authority) issue(name string, roles []string, mark string) string {
	return a.signing().sign(claims{Name: name, Roles: roles, Expires: a.opts.Now().Add(a.opts.TokenTime).Unix(), Mark: mark})
}

// signed finds the caller of a signed token, or why there is none.
func (a *Authority) signed(token string) (Caller, string) {
	c, ok := a.signing().verify(token)
	if !ok {
		return Caller{}, "a signed token that is not of our keys"
	}
	expires := time.Unix(c.Expires, 0)
	if !a.opts.Now().Before(expires) {
		return Caller{}, fmt.Sprintf("the signed token of %q has expired", c.Name)
	}
	if c.Mark != "" && a.passwords != nil {
		stored, exists := a.passwords.Get().users[c.Name]
		if !exists || mark(stored) != c.Mark {
			return Caller{}, fmt.Sprintf("user %q of a signed token is gone, or has another password", c.Name)
		}
	}
	return Caller{Name: c.Name, Kind: BySigned, Roles: c.Roles, Expires: expires}, ""
}

// SignedToken makes a token of a name that is good for a time, under the first key of a file's content.
func SignedToken(file []byte, name string, until time.Time) (string, error) {
	k, err := parseKeys([][]byte{file})
	if err != nil {
		return "", err
	}
	return k.sign(claims{Name: name, Expires: until.Unix()}), nil
}
