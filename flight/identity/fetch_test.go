package identity

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// issuer publishes keys, and signs with them. What it answers may be changed under its lock.
type issuer struct {
	mu     sync.Mutex
	answer string
	code   int
	hangs  time.Duration
	asked  int
}

func (i *issuer) set(code int, answer string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.code, i.answer = code, answer
}

func (i *issuer) hang(d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hangs = d
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// RoundTrip answers without a network.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.asked++
	code, answer, hangs := i.code, i.answer, i.hangs
	i.mu.Unlock()
	select {
	case <-time.After(hangs):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if code == 0 {
		return nil, errors.New("no route to host")
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(answer)),
	}, nil
}

const issuerURL = "https://id.example.org/keys"

func edKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signedBy is the header of a token of alice's that is good for a day.
func signedBy(t testing.TB, key ed25519.PrivateKey, id string) Shown {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": "i", "aud": "a", "sub": "alice", "exp": time.Now().Add(24 * time.Hour).Unix(), "groups": "analyst loader",
	})
	if id != "" {
		token.Header["kid"] = id
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return header("Bearer " + text)
}

// Keys are fetched at the start, at intervals, and when a token names one that is not known, though not too often. What fails
// leaves the keys that there are, and is told once.
func TestPublishedKeys(t *testing.T) {
	one, two, three := edKey(t), edKey(t), edKey(t)
	synctest.Test(t, func(t *testing.T) {
		from := &issuer{}
		var mu sync.Mutex // of what was told
		var failed []string
		changed := 0
		told := func() ([]string, int) { // since it was asked last
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			f, c := failed, changed
			failed, changed = nil, 0
			return f, c
		}
		a := open(t, Options{
			JWKSURL: issuerURL, Issuer: "i", Audience: "a", RoleClaim: "groups", Transport: from,
			Failed: func(_ string, err error) {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err.Error())
			},
			Changed: func(string) {
				mu.Lock()
				defer mu.Unlock()
				changed++
			},
		})
		known := func(s Shown) bool {
			t.Helper()
			c, _, err := a.Identify(t.Context(), s)
			if err != nil {
				refusedAs(t, err, "a JSON web token: ")
				return false
			}
			return c.Name == "alice" && slices.Equal(c.Roles, []string{"analyst", "loader"})
		}
		first, second, third := signedBy(t, one, "1"), signedBy(t, two, "2"), signedBy(t, three, "")
		failedAs := func(when, want string) {
			t.Helper()
			if f, _ := told(); len(f) != 1 || !strings.Contains(f[0], want) || !strings.Contains(f[0], issuerURL) {
				t.Errorf("%s: failed as %q, want once %q", when, f, want)
			}
		}
		if known(first) || from.count() != 1 {
			t.Errorf("while nothing answers: fetched %d times", from.count())
		}
		failedAs("while nothing answers", "no route to host")
		from.set(200, keySet(t, map[string]crypto.Signer{"1": one}))
		time.Sleep(fetchFloor - time.Nanosecond)
		if known(first) {
			t.Error("it was fetched too early")
		}
		time.Sleep(time.Nanosecond)
		if f, c := told(); !known(first) || from.count() != 2 || c != 1 || len(f) != 0 {
			t.Errorf("when it answers: fetched %d times, changed %d times, failed %q", from.count(), c, f)
		}

		from.set(200, keySet(t, map[string]crypto.Signer{"1": one, "2": two}))
		if known(second) {
			t.Error("it was fetched too early for an unknown key")
		}
		time.Sleep(fetchFloor)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if !known(second) {
					t.Error("the new key is not fetched for all who need it")
				}
			})
		}
		all.Wait()
		if from.count() != 3 {
			t.Errorf("20 tokens of an unknown key: fetched %d times", from.count()-2)
		}
		time.Sleep(fetchFloor)
		for range 100 {
			known(signedBy(t, one, "made up"))
		}
		if from.count() != 4 {
			t.Errorf("100 tokens of made-up keys: fetched %d times", from.count()-3)
		}

		from.set(200, keySet(t, map[string]crypto.Signer{"2": two, "3": three}))
		if known(third) {
			t.Error("a token without a kid has keys fetched")
		}
		time.Sleep(fetchEvery)
		told()
		if known(first) || !known(second) || !known(third) {
			t.Error("what is published is not what is taken")
		}
		for answer, want := range map[string]string{
			"": "want a JSON web key set", "{}": "no key", `{"keys":[]}`: "no key", "<html>": "want a JSON web key set",
			`{"keys":[{"kty":"RSA","n":"AQ","e":"AQ"}]}`: "an RSA key of 1 bits", strings.Repeat(" ", maxSet+1): "larger than 1048576 bytes",
		} {
			from.set(200, answer)
			time.Sleep(fetchEvery)
			failedAs(fmt.Sprintf("%.20q", answer), want)
			if !known(second) {
				t.Errorf("%.20q: the keys are gone", answer)
			}
			from.set(200, keySet(t, map[string]crypto.Signer{"2": two, "3": three}))
			time.Sleep(fetchFloor)
			told()
		}
		from.set(503, keySet(t, map[string]crypto.Signer{"1": one}))
		time.Sleep(time.Hour)
		failedAs("an hour without an answer", "Service Unavailable")
		if !known(second) {
			t.Error("after an hour the keys are gone")
		}
		from.hang(time.Hour)
		time.Sleep(fetchFloor + fetchTimeout)
		failedAs("an issuer that hangs", "deadline")
		if !known(second) {
			t.Error("of an issuer that hangs the keys are gone")
		}
	})
}

// Of keys that are published those of unknown kinds are passed over.
func TestPublishedKeysOfOtherKinds(t *testing.T) {
	key := edKey(t)
	set := strings.Replace(keySet(t, map[string]crypto.Signer{"k": key}), `{"keys":[`,
		`{"keys":[{"kty":"AKP","kid":"k","alg":"ML-DSA-44","pub":"x"},{"kty":"oct","kid":"k","k":"AAAA"},{"kty":"EC","crv":"secp256k1"},{"kty":"RSA","use":"enc"},`, 1)
	from := &issuer{code: 200, answer: set}
	a := open(t, Options{JWKSURL: issuerURL, Issuer: "i", Audience: "a", Transport: from})
	if c, _, err := a.Identify(t.Context(), signedBy(t, key, "k")); err != nil || c.Kind != ByJWT {
		t.Errorf("%+v, %v", c, err)
	}
}

// Keys come encrypted or from this machine, and do not follow where that would end.
func TestWhereKeysComeFrom(t *testing.T) {
	for url, want := range map[string]string{
		"https://id.example.org/keys": "", "http://127.0.0.1:1/keys": "", "http://[::1]:1/keys": "", "http://localhost/keys": "",
		"http://id.example.org/keys": "want https", "http://192.0.2.1/keys": "want https", "http://127.0.0.1.example.org/": "want https",
		"file:///etc/keys": "no host", "ftp://h/keys": `scheme "ftp"`, "keys.json": "no host", "https://": "no host", ":": "missing protocol scheme",
	} {
		o := Options{JWKSURL: url, Issuer: "i", Audience: "a"}
		if err := o.Validate(); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--jwt-keys-url")) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		o.Insecure = true
		if err := o.Validate(); (err == nil) != (want == "" || want == "want https") {
			t.Errorf("%s, insecure: %v", url, err)
		}
	}
	if err := (Options{JWKSURL: issuerURL, JWKSFile: "x", Issuer: "i", Audience: "a"}).Validate(); err == nil || !strings.Contains(err.Error(), "want one of them") {
		t.Errorf("a file and a URL: %v", err)
	}

	key := edKey(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://id.example.org/keys", http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/keys", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			io.WriteString(w, keySet(t, map[string]crypto.Signer{"k": key}))
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{"/keys": "", "/here": "", "/away": "want https", "/round": "more than 3 redirects"} {
		var failed []error
		a := open(t, Options{
			JWKSURL: server.URL + path, Issuer: "i", Audience: "a", Failed: func(_ string, err error) { failed = append(failed, err) },
		})
		_, _, err := a.Identify(t.Context(), signedBy(t, key, "k"))
		if (err == nil) != (want == "") || want != "" && !strings.Contains(errors.Join(failed...).Error(), want) {
			t.Errorf("%s: %v; failed %v", path, err, failed)
		}
	}
}
