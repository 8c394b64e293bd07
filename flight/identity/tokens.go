package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// hash is a hash of a secret.
type hash [sha256.Size]byte

// seal hashes under a key that only this process has. Where such a hash is looked up, how long it takes tells nothing.
func (a *Authority) seal(parts ...[]byte) (out hash) {
	h := hmac.New(sha256.New, a.secret[:])
	for _, p := range parts {
		part := sha256.Sum256(p) // so that the end of one and the beginning of the next are told apart
		h.Write(part[:])
	}
	h.Sum(out[:0])
	return out
}

// tokens are names by the sealed hashes of their tokens.
type tokens map[hash]string

func (a *Authority) parseTokens(contents [][]byte) (tokens, error) {
	list, err := lines(contents[0])
	if err != nil {
		return nil, err
	}
	out := tokens{}
	var errs []error
	for _, l := range list {
		h, err := hex.DecodeString(l.value)
		if err != nil || len(h) != sha256.Size {
			errs = append(errs, fmt.Errorf("line %d: token of %q: want its SHA-256 as 64 hex digits", l.line, l.name))
			continue
		}
		key := a.seal(h)
		if other, taken := out[key]; taken {
			errs = append(errs, fmt.Errorf("line %d: token of %q: %q has it as well", l.line, l.name, other))
		}
		out[key] = l.name
	}
	return out, errors.Join(errs...)
}

// static finds the caller of a static token.
func (a *Authority) static(token string) (Caller, bool) {
	if a.tokens == nil {
		return Caller{}, false
	}
	h := sha256.Sum256([]byte(token))
	name, ok := a.tokens.Get()[a.seal(h[:])]
	return Caller{Name: name, Kind: ByToken}, ok
}

// TokenLine is the line of a tokens file for a token.
func TokenLine(name, token string) string {
	h := sha256.Sum256([]byte(token))
	return name + ":" + hex.EncodeToString(h[:])
}
