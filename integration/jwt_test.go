package integration

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// issuer publishes the key by which it signs over HTTPS.
type issuer struct {
	*testing.T
	url  string
	key  ed25519.PrivateKey
	id   string
	says atomic.Pointer[string]
}

// startIssuer uses the certificate of a site.
func startIssuer(s *site) *issuer {
	s.Helper()
	i := &issuer{T: s.T}
	i.change("first")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, *i.says.Load()) }))
	pair, err := tls.LoadX509KeyPair(s.path("server.pem"), s.path("server.key"))
	if err != nil {
		s.Fatal(err)
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	s.Cleanup(server.Close)
	i.url = server.URL + "/keys"
	return i
}

// change makes another key, and publishes that alone.
func (i *issuer) change(id string) {
	i.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		i.Fatal(err)
	}
	set := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":%q,"use":"sig","x":%q}]}`, id, base64.RawURLEncoding.EncodeToString(public))
	i.key, i.id = key, id
	i.says.Store(&set)
}

// token is one of the issuer's, of which claims may be changed.
func (i *issuer) token(change jwt.MapClaims) string {
	i.Helper()
	claims := jwt.MapClaims{"iss": "https://id.example.org", "aud": "flights", "sub": "dana", "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"reader"}}
	for k, v := range change {
		claims[k] = v
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	t.Header["kid"] = i.id
	text, err := t.SignedString(i.key)
	if err != nil {
		i.Fatal(err)
	}
	return "Bearer " + text
}

// JSON web tokens by the keys that their issuer publishes: roles are those of a claim, and keys follow the issuer.
func TestJSONWebTokensByURL(t *testing.T) {
	s := newSite(t)
	from := startIssuer(s)
	t.Setenv("SSL_CERT_FILE", s.path("ca.pem"))
	s.serve("--jwt-keys-url", from.url, "--jwt-issuer", "https://id.example.org", "--jwt-audience", "flights", "--jwt-roles", "groups")
	c := s.dial()
	prepare(s, c, "sales/a")
	get := func(token string) codes.Code {
		_, err := call(header(t.Context(), token), c, "DoGet", &flight.Ticket{Ticket: []byte("sales/a")})
		return status.Code(err)
	}
	first := from.token(nil)
	for name, x := range map[string]struct {
		claims jwt.MapClaims
		want   codes.Code
	}{
		"a role":              {nil, codes.OK},
		"roles in one text":   {jwt.MapClaims{"groups": "x reader"}, codes.OK},
		"another role":        {jwt.MapClaims{"groups": []string{"other"}}, codes.NotFound},
		"a role of no file":   {jwt.MapClaims{"groups": []string{"admin"}}, codes.NotFound},
		"no role":             {jwt.MapClaims{"groups": nil}, codes.NotFound},
		"a name with a role":  {jwt.MapClaims{"groups": nil, "sub": "good"}, codes.OK},
		"expired":             {jwt.MapClaims{"exp": time.Now().Add(-time.Minute).Unix()}, codes.Unauthenticated},
		"of another issuer":   {jwt.MapClaims{"iss": "https://evil.example.org"}, codes.Unauthenticated},
		"of another audience": {jwt.MapClaims{"aud": "trains"}, codes.Unauthenticated},
	} {
		if got := get(from.token(x.claims)); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
	from.change("second")
	second := from.token(nil)
	for start := time.Now(); get(second) != codes.OK; time.Sleep(100 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("a new key is never fetched")
		}
	}
	if got := get(first); got != codes.Unauthenticated {
		t.Errorf("a token of a key that is gone: %v", got)
	}
}
