package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// algorithms are those with a public key. One with a shared key would take the public key for it.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// leeway is how far the clock of an issuer may be off.
const leeway = 30 * time.Second

// maxJWT is the most bytes of a JSON web token.
const maxJWT = 16 << 10

// jwt finds the caller of a JSON web token, or why there is none.
func (a *Authority) jwt(ctx context.Context, token string) (Caller, string) {
	if len(token) > maxJWT {
		return Caller{}, "a JSON web token that is too long"
	}
	parser := jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithIssuer(a.opts.Issuer), jwt.WithAudience(a.opts.Audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(a.opts.Now))
	claims := jwt.MapClaims{}
	if _, err := parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) { return a.webKey(ctx, t) }); err != nil {
		return Caller{}, "a JSON web token: " + jwtReason(err)
	}
	name, err := claims.GetSubject()
	if err != nil || name == "" {
		return Caller{}, "a JSON web token without a subject"
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil {
		return Caller{}, "a JSON web token without an expiry"
	}
	return Caller{Name: name, Kind: ByJWT, Roles: rolesOf(claimAt(claims, a.opts.RoleClaim)), Expires: expires.Add(leeway)}, ""
}

// jwtReason names what is wrong without anything of the token, which the library's messages may have.
func jwtReason(err error) string {
	for _, x := range []struct {
		err  error
		text string
	}{
		{errNoKey, "signed with a key that is not in the set"},
		{errCritical, "it needs extensions that are not known"},
		{jwt.ErrTokenMalformed, "malformed"},
		{jwt.ErrTokenUnverifiable, "malformed"},
		{jwt.ErrTokenExpired, "expired"},
		{jwt.ErrTokenNotValidYet, "not valid yet"},
		{jwt.ErrTokenUsedBeforeIssued, "used before it was issued"},
		{jwt.ErrTokenInvalidIssuer, "of another issuer"},
		{jwt.ErrTokenInvalidAudience, "for another audience"},
		{jwt.ErrTokenRequiredClaimMissing, "without an expiry, an issuer or an audience"},
		{jwt.ErrTokenSignatureInvalid, "its signature is wrong"},
	} {
		if errors.Is(err, x.err) {
			return x.text
		}
	}
	return "not valid"
}

var (
	errNoKey    = errors.New("no such key")
	errCritical = errors.New("critical extensions")
)

// webKey gives the keys that a token may be signed with: those of its kid, or all where it has none. A kid that is not known
// may be that of a key which has just been published.
func (a *Authority) webKey(ctx context.Context, t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical { // RFC 7515, 4.1.11: who does not know them refuses; the library passes them over
		return nil, errCritical
	}
	id, named := t.Header["kid"].(string)
	all := a.webKeys.Get()
	if len(all) == 0 || named && !slices.ContainsFunc(all, func(k webKey) bool { return k.ID == id }) {
		all = a.fresher(ctx)
	}
	var set jwt.VerificationKeySet
	for _, k := range all {
		if named && k.ID != id || k.Algorithm != "" && k.Algorithm != t.Method.Alg() {
			continue
		}
		set.Keys = append(set.Keys, k.public)
	}
	if len(set.Keys) == 0 {
		return nil, errNoKey
	}
	return set, nil
}

// claimAt gives the claim of a name, or, where there is none, what a path with dots leads to, as realm_access.roles.
func claimAt(claims map[string]any, path string) any {
	if claim, ok := claims[path]; ok {
		return claim
	}
	first, rest, _ := strings.Cut(path, ".")
	inner, _ := claims[first].(map[string]any)
	if rest == "" || inner == nil {
		return nil
	}
	return claimAt(inner, rest)
}

// rolesOf reads a claim: a list of texts, or one text with spaces.
func rolesOf(claim any) (out []string) {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		for _, x := range claim {
			if s, ok := x.(string); ok {
				out = append(out, s)
			} else {
				out = append(out, fmt.Sprint(x))
			}
		}
	}
	return out
}
