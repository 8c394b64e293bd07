package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/crypto/bcrypt"
)

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, o Options) *Authority {
	t.Helper()
	if o.Delay == 0 {
		o.Delay = -1
	}
	a, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func header(values ...string) Shown { return Shown{Authorization: values, From: "192.0.2.1"} }

func basicOf(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func line(t testing.TB, name, password string) string {
	t.Helper()
	l, err := PasswordLine(name, password, bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return l + "\n"
}

// refusedAs wants a refusal that tells the caller nothing and the log this.
func refusedAs(t testing.TB, err error, reason string) {
	t.Helper()
	if !errors.Is(err, ErrUnauthenticated) || err.Error() != ErrUnauthenticated.Error() {
		t.Errorf("%v: want %v and nothing more", err, ErrUnauthenticated)
	}
	if err != nil && !strings.Contains(Reason(err), reason) {
		t.Errorf("the reason is %q; want %q", Reason(err), reason)
	}
}

func TestHeaders(t *testing.T) {
	a := open(t, Options{TokensFile: write(t, "# who\n\n"+TokenLine("robot", "s3cret")+"\n"), PasswordsFile: write(t, line(t, "alice", "p:w"))})
	for _, s := range []Shown{
		header("Bearer s3cret"), header("bearer s3cret"), header("BEARER s3cret"), header("  Bearer   s3cret "), {Tokens: []string{"s3cret"}},
	} {
		c, token, err := a.Identify(t.Context(), s)
		if err != nil || c.Name != "robot" || c.Kind != ByToken || token != "" {
			t.Errorf("%v: %+v, %q, %v", s, c, token, err)
		}
	}
	for _, value := range []string{"Basic " + basicOf("alice", "p:w"), "bAsIc " + strings.TrimRight(basicOf("alice", "p:w"), "=")} {
		c, token, err := a.Identify(t.Context(), header(value))
		if err != nil || c.Name != "alice" || c.Kind != ByPassword {
			t.Errorf("%q: %+v, %v", value, c, err)
		}
		if c, _, err = a.Identify(t.Context(), header("Bearer "+token)); err != nil || c.Name != "alice" || c.Kind != BySigned {
			t.Errorf("its token: %+v, %v", c, err)
		}
	}
	for reason, list := range map[string][]Shown{
		"nothing was shown":               {{}, {Certificate: &x509.Certificate{}}},
		"more than one":                   {header("Bearer s3cret", "Bearer s3cret"), {Authorization: []string{"Bearer s3cret"}, Tokens: []string{"s3cret"}}},
		"without a credential":            {header(""), header("Bearer"), header("Basic "), header("s3cret"), header(" ")},
		"unknown token":                   {header("bearer x"), header("Bearer s3cret2"), header("Bearer S3CRET"), header("Bearer a.b.c"), {Tokens: []string{""}}, header("Bearer " + strings.Repeat("x", 64<<10))},
		"not of our keys":                 {header("Bearer fc1."), header("Bearer fc1.e30.e30"), header("Bearer fc1..")},
		"malformed Basic":                 {header("Basic eA=="), header("Basic !"), header("Basic " + basicOf("", "x"))},
		"neither Basic nor Bearer":        {header("Negotiate abc"), header("Bearer\ts3cret x")},
		"no such user":                    {header("Basic " + basicOf("bob", "p:w")), header("Basic " + basicOf("Alice", "p:w"))},
		`wrong password for user "alice"`: {header("Basic " + basicOf("alice", "p")), header("Basic " + basicOf("alice", "")), header("Basic " + basicOf("alice", strings.Repeat("x", 100)))},
	} {
		for _, s := range list {
			c, _, err := a.Identify(t.Context(), s)
			if err == nil {
				t.Errorf("%v is %+v", s, c)
			}
			refusedAs(t, err, reason)
		}
	}
}

func TestCertificates(t *testing.T) {
	cert := &x509.Certificate{Subject: pkix.Name{CommonName: "loader", Organization: []string{"Flights"}}, NotAfter: time.Unix(1000, 0)}
	now := time.Unix(1000, 0)
	a := open(t, Options{Certificates: true, TokensFile: write(t, TokenLine("robot", "x")), Now: func() time.Time { return now }})
	c, _, err := a.Identify(t.Context(), Shown{Certificate: cert})
	if err != nil || c.Name != "CN=loader,O=Flights" || c.Kind != ByCertificate {
		t.Errorf("%+v, %v", c, err)
	}
	s := header("Bearer wrong")
	s.Certificate = cert
	_, _, err = a.Identify(t.Context(), s)
	refusedAs(t, err, "unknown token") // what is shown must be right
	now = time.Unix(1001, 0)
	_, _, err = a.Identify(t.Context(), Shown{Certificate: cert})
	refusedAs(t, err, "has expired")
}

// Two servers with one key take each other's tokens; one with another key does not. A new first key signs, and the old one is
// taken until it goes.
func TestSignedTokensOfAGroup(t *testing.T) {
	now := time.Unix(10_000, 0)
	clock := func() time.Time { return now }
	first, second := strings.Repeat("ab", 32), base64.StdEncoding.EncodeToString(make([]byte, 40))
	users := write(t, line(t, "alice", "pw"))
	keyFile := write(t, first)
	one := open(t, Options{PasswordsFile: users, KeyFile: keyFile, Now: clock})
	two := open(t, Options{KeyFile: write(t, first+"\n"), Now: clock})
	other := open(t, Options{KeyFile: write(t, second), Now: clock})
	alone := open(t, Options{PasswordsFile: users, Now: clock})
	_, token, err := one.Login(t.Context(), "alice", "pw", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*Authority{"one": one, "two": two} {
		c, _, err := a.Identify(t.Context(), header("Bearer "+token))
		if err != nil || c.Name != "alice" || !c.Expires.Equal(now.Add(time.Hour)) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	for _, a := range []*Authority{other, alone} {
		_, _, err = a.Identify(t.Context(), header("Bearer "+token))
		refusedAs(t, err, "not of our keys")
	}
	for i := range token {
		b := []byte(token)
		b[i] ^= 1
		if _, _, err := one.Identify(t.Context(), header("Bearer "+string(b))); err == nil {
			t.Errorf("a token with its byte %d changed is taken", i)
		}
	}
	os.WriteFile(keyFile, []byte(second+"\n"+first), 0o600)
	one.keys.Look()
	if _, _, err := one.Identify(t.Context(), header("Bearer "+token)); err != nil {
		t.Errorf("under the second key: %v", err)
	}
	_, newer, _ := one.Login(t.Context(), "alice", "pw", "")
	if _, _, err := other.Identify(t.Context(), header("Bearer "+newer)); err != nil {
		t.Errorf("the first key does not sign: %v", err)
	}
	now = now.Add(time.Hour)
	_, _, err = one.Identify(t.Context(), header("Bearer "+token))
	refusedAs(t, err, "has expired")
	made, err := SignedToken([]byte(first), "robot", now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if c, _, err := two.Identify(t.Context(), header("Bearer "+made)); err != nil || c.Name != "robot" {
		t.Errorf("a token that was made elsewhere: %+v, %v", c, err)
	}
}

// A user that leaves, or has another password, is out at once: with the password, though it was remembered, and with the token.
func TestPasswordsChange(t *testing.T) {
	path := write(t, line(t, "alice", "old")+line(t, "bob", "pw"))
	var failed []string
	a := open(t, Options{PasswordsFile: path, Failed: func(_ string, err error) { failed = append(failed, err.Error()) }})
	_, alice, err := a.Login(t.Context(), "alice", "old", "")
	if err != nil {
		t.Fatal(err)
	}
	_, bob, err := a.Login(t.Context(), "bob", "pw", "")
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(path, []byte("alice"), 0o600)
	a.passwords.Look()
	if len(failed) != 1 || !strings.Contains(failed[0], path+": line 1: want NAME:HASH") {
		t.Errorf("a bad file fails as %q", failed)
	}
	if _, _, err := a.Login(t.Context(), "alice", "old", ""); err != nil {
		t.Errorf("after a bad file: %v", err)
	}
	os.WriteFile(path, []byte(line(t, "alice", "new")), 0o600)
	a.passwords.Look()
	_, _, err = a.Login(t.Context(), "alice", "old", "")
	refusedAs(t, err, "wrong password")
	_, _, err = a.Login(t.Context(), "bob", "pw", "")
	refusedAs(t, err, "no such user")
	for _, token := range []string{alice, bob} {
		_, _, err = a.Identify(t.Context(), header("Bearer "+token))
		refusedAs(t, err, "is gone, or has another password")
	}
	if _, _, err := a.Login(t.Context(), "alice", "new", ""); err != nil {
		t.Error(err)
	}
}

func number(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// keySet is a JWKS of keys.
func keySet(t testing.TB, keys map[string]crypto.Signer) string {
	t.Helper()
	var set struct {
		Keys []map[string]string `json:"keys"`
	}
	for id, k := range keys {
		m := map[string]string{"kid": id, "use": "sig"}
		switch p := k.Public().(type) {
		case *rsa.PublicKey:
			m["kty"], m["n"], m["e"] = "RSA", number(p.N.Bytes()), number(big.NewInt(int64(p.E)).Bytes())
		case *ecdsa.PublicKey:
			point, err := p.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			half := (len(point) - 1) / 2
			m["kty"], m["crv"], m["x"], m["y"] = "EC", p.Curve.Params().Name, number(point[1:1+half]), number(point[1+half:])
		case ed25519.PublicKey:
			m["kty"], m["crv"], m["x"] = "OKP", "Ed25519", number(p)
		}
		set.Keys = append(set.Keys, m)
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestJSONWebTokens(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	_, strange, _ := ed25519.GenerateKey(rand.Reader)
	set := keySet(t, map[string]crypto.Signer{"r": rsaKey, "e": ecKey, "d": edKey})
	now := time.Unix(1_800_000_000, 0)
	a := open(t, Options{JWKSFile: write(t, set), Issuer: "https://id.example.org", Audience: "flights", Now: func() time.Time { return now }})
	claims := func(change ...any) jwt.MapClaims {
		m := jwt.MapClaims{
			"iss": "https://id.example.org", "aud": []string{"x", "flights"}, "sub": "alice", "exp": now.Unix() + 60, "roles": []string{"analyst", "b"},
		}
		for i := 0; i < len(change); i += 2 {
			if change[i+1] == nil {
				delete(m, change[i].(string))
			} else {
				m[change[i].(string)] = change[i+1]
			}
		}
		return m
	}
	sign := func(method jwt.SigningMethod, key any, id string, c jwt.MapClaims) string {
		token := jwt.NewWithClaims(method, c)
		if id != "" {
			token.Header["kid"] = id
		}
		s, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, token := range map[string]string{
		"RS256": sign(jwt.SigningMethodRS256, rsaKey, "r", claims()), "PS512": sign(jwt.SigningMethodPS512, rsaKey, "r", claims()),
		"ES384": sign(jwt.SigningMethodES384, ecKey, "e", claims()), "EdDSA": sign(jwt.SigningMethodEdDSA, edKey, "d", claims()),
		"without kid": sign(jwt.SigningMethodEdDSA, edKey, "", claims()), "one audience": sign(jwt.SigningMethodEdDSA, edKey, "d", claims("aud", "flights")),
		"a clock that is off": sign(jwt.SigningMethodEdDSA, edKey, "d", claims("exp", now.Unix()-20, "nbf", now.Unix()+20)),
	} {
		c, _, err := a.Identify(t.Context(), header("Bearer "+token))
		if err != nil || c.Name != "alice" || c.Kind != ByJWT || !slices.Equal(c.Roles, []string{"analyst", "b"}) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	publicDER, _ := x509.MarshalPKIXPublicKey(rsaKey.Public())
	for reason, list := range map[string][]string{
		"expired":                {sign(jwt.SigningMethodEdDSA, edKey, "d", claims("exp", now.Unix()-31))},
		"another issuer":         {sign(jwt.SigningMethodEdDSA, edKey, "d", claims("iss", "https://evil.example.org"))},
		"another audience":       {sign(jwt.SigningMethodEdDSA, edKey, "d", claims("aud", "trains"))},
		"not valid yet":          {sign(jwt.SigningMethodEdDSA, edKey, "d", claims("nbf", now.Unix()+60))},
		"before it was issued":   {sign(jwt.SigningMethodEdDSA, edKey, "d", claims("iat", now.Unix()+60))},
		"without an expiry":      {sign(jwt.SigningMethodEdDSA, edKey, "d", claims("exp", nil)), sign(jwt.SigningMethodEdDSA, edKey, "d", claims("aud", nil)), sign(jwt.SigningMethodEdDSA, edKey, "d", claims("iss", nil))},
		"without a subject":      {sign(jwt.SigningMethodEdDSA, edKey, "d", claims("sub", nil)), sign(jwt.SigningMethodEdDSA, edKey, "d", claims("sub", ""))},
		"not in the set":         {sign(jwt.SigningMethodEdDSA, strange, "z", claims())},
		"its signature is wrong": {sign(jwt.SigningMethodEdDSA, strange, "d", claims()), sign(jwt.SigningMethodHS256, publicDER, "r", claims()), sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "d", claims())},
		"malformed":              {"a.b.c", "..", number([]byte("{}")) + ".e30."},
		"too long":               {strings.Repeat("a", maxJWT) + ".b.c"},
	} {
		for i, token := range list {
			c, _, err := a.Identify(t.Context(), header("Bearer "+token))
			if err == nil {
				t.Errorf("%s, %d: taken as %+v", reason, i, c)
			}
			refusedAs(t, err, reason)
		}
	}
	critical := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims())
	critical.Header["kid"], critical.Header["crit"] = "d", []string{"b64"}
	text, err := critical.SignedString(edKey)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = a.Identify(t.Context(), header("Bearer "+text))
	refusedAs(t, err, "extensions that are not known")
	nested := map[string]any{"a": map[string]any{"b": map[string]any{"c": "deep"}, "x.y": "dotted"}, "a.b": "flat", "https://e.org/r": "url", "s": "text"}
	for path, want := range map[string]any{
		"a.b.c": "deep", "a.b": "flat", "a.x.y": "dotted", "https://e.org/r": "url", "s": "text", "s.t": nil, "": nil, ".": nil, "a.": nil, "z": nil, "a.b.z": nil,
	} {
		if got := claimAt(nested, path); got != want {
			t.Errorf("the claim at %q is %v, want %v", path, got, want)
		}
	}
	if got := rolesOf("a b  c"); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("roles of a text: %q", got)
	}
}

func TestBadFiles(t *testing.T) {
	weak, _ := rsa.GenerateKey(rand.Reader, 1024)
	jwks := func(text string) Options { return Options{JWKSFile: write(t, text), Issuer: "i", Audience: "a"} }
	costly, _ := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost)
	for want, o := range map[string]Options{
		"line 2: want NAME:HASH":                       {TokensFile: write(t, "#\nsecret\n")},
		`token of "x": want its SHA-256`:               {TokensFile: write(t, "x:zz")},
		`"a" has it as well`:                           {TokensFile: write(t, TokenLine("a", "t")+"\n"+TokenLine("b", "t"))},
		`password of "x": want a bcrypt hash`:          {PasswordsFile: write(t, "x:{SHA}abc")},
		`user "x" is there twice`:                      {PasswordsFile: write(t, line(t, "x", "1")+line(t, "x", "2"))},
		"cost 31 is more than 14":                      {PasswordsFile: write(t, "x:"+strings.Replace(string(costly), "$04$", "$31$", 1))},
		"line 1: want a key of at least 32 bytes":      {KeyFile: write(t, hex.EncodeToString(make([]byte, 31)))},
		"there is no key in it":                        {KeyFile: write(t, "# none\n")},
		"want a JSON web key set":                      jwks("x"),
		"no key for signatures":                        jwks(`{"keys":[{"kty":"RSA","use":"enc"}]}`),
		"an RSA key of 1024 bits":                      jwks(keySet(t, map[string]crypto.Signer{"w": weak})),
		`type "oct"`:                                   jwks(`{"keys":[{"kty":"oct","k":"AAAA"}]}`),
		`curve "P-1"`:                                  jwks(`{"keys":[{"kty":"EC","crv":"P-1"}]}`),
		"kid \"q\"":                                    jwks(`{"keys":[{"kid":"q","kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}]}`),
		"Ed25519":                                      jwks(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AQ"}]}`),
		"no such file":                                 {TokensFile: filepath.Join(t.TempDir(), "absent")},
		"--jwt-issuer, --jwt-audience":                 {JWKSFile: "x"},
		"no keys (options --jwt-keys, --jwt-keys-url)": {Issuer: "x"},
		"--token-time":                                 {TokenTime: -1},
	} {
		if a, err := Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s; got %v", want, err)
			if a != nil {
				a.Close()
			}
		}
	}
	if _, err := PasswordLine("a:b", "x", 0); err == nil {
		t.Error("a user with a colon")
	}
	if _, err := PasswordLine("a", strings.Repeat("x", 73), 0); err == nil {
		t.Error("a password that bcrypt would cut")
	}
}

// A wrong guess takes its time, and one address has one guess at a time; who knows the password does not wait for others' guesses.
func TestGuessesAreSlow(t *testing.T) {
	path := write(t, line(t, "alice", "pw"))
	tokens := write(t, TokenLine("robot", "x"))
	synctest.Test(t, func(t *testing.T) {
		a, err := Open(Options{PasswordsFile: path, TokensFile: tokens})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		start := time.Now()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				_, _, err := a.Login(t.Context(), "alice", "guess", "192.0.2.1")
				refusedAs(t, err, "wrong password")
			})
		}
		if _, _, err := a.Login(t.Context(), "alice", "pw", "192.0.2.2"); err != nil || time.Since(start) > 0 {
			t.Errorf("the right password of another address took %v: %v", time.Since(start), err)
		}
		all.Wait()
		if took := time.Since(start); took != 8*DefaultDelay {
			t.Errorf("8 guesses took %v", took)
		}
		start = time.Now()
		_, _, err = a.Identify(t.Context(), header("Bearer wrong"))
		refusedAs(t, err, "unknown token")
		if took := time.Since(start); took != DefaultDelay {
			t.Errorf("a wrong token took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), DefaultDelay/2)
		defer cancel()
		start = time.Now()
		a.Identify(ctx, header("Bearer wrong"))
		if took := time.Since(start); took != DefaultDelay/2 {
			t.Errorf("of a call that was over it took %v", took)
		}
		if len(a.gates.open) != 0 || a.slow.waiting.Load() != 0 {
			t.Errorf("%d gates, %d waiting stay", len(a.gates.open), a.slow.waiting.Load())
		}
	})
}
