package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// webKey is a key of JSON web tokens, as RFC 7517 writes it.
type webKey struct {
	Type      string `json:"kty"`
	Use       string `json:"use"`
	ID        string `json:"kid"`
	Algorithm string `json:"alg"`
	Curve     string `json:"crv"`
	N, E      string
	X, Y      string

	public crypto.PublicKey
}

// minRSA is the least bits of an RSA key.
const minRSA = 2048

// parseWebKeys reads the set of a file, of which each key must be of use.
func parseWebKeys(contents [][]byte) ([]webKey, error) {
	keys, errs, err := webKeysOf(contents[0])
	if err != nil {
		return nil, err
	}
	return keys, errors.Join(errs...)
}

// publishedKeys reads the set of an issuer, of which keys that are of no use are passed over, as RFC 7517 has it: it may publish
// new kinds before we know them.
func publishedKeys(contents [][]byte) ([]webKey, error) {
	keys, errs, err := webKeysOf(contents[0])
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, errors.Join(errs...)
	}
	return keys, nil
}

// webKeysOf gives the keys for signatures in a set, and what is wrong with each of the others. The error is that of a set without any.
func webKeysOf(text []byte) (keys []webKey, errs []error, err error) {
	var set struct{ Keys []webKey }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, nil, fmt.Errorf("want a JSON web key set: %w", err)
	}
	for i, k := range set.Keys {
		if k.Use != "" && k.Use != "sig" {
			continue
		}
		if k.public, err = k.parse(); err != nil {
			errs = append(errs, fmt.Errorf("key %d, kid %q: %w", i, k.ID, err))
			continue
		}
		keys = append(keys, k)
	}
	if len(keys)+len(errs) == 0 {
		return nil, nil, errors.New("there is no key for signatures in it")
	}
	return keys, errs, nil
}

func (k *webKey) parse() (crypto.PublicKey, error) {
	switch k.Type {
	case "RSA":
		n, e, err := numbers(k.N, k.E)
		if err != nil {
			return nil, err
		}
		if n.BitLen() < minRSA || !e.IsInt64() || e.Int64() < 3 || e.Int64() > 1<<31-1 || e.Bit(0) == 0 {
			return nil, fmt.Errorf("an RSA key of %d bits: want %d or more, and an odd exponent of at most 31 bits", n.BitLen(), minRSA)
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}, nil
	case "EC":
		curve := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[k.Curve]
		if curve == nil {
			return nil, fmt.Errorf("curve %q: want P-256, P-384 or P-521", k.Curve)
		}
		x, y, err := numbers(k.X, k.Y)
		if err != nil {
			return nil, err
		}
		size := (curve.Params().BitSize + 7) / 8
		if x.BitLen() > size*8 || y.BitLen() > size*8 {
			return nil, errors.New("the point is not on its curve")
		}
		point := make([]byte, 1+2*size)
		point[0] = 4 // uncompressed
		x.FillBytes(point[1 : 1+size])
		y.FillBytes(point[1+size:])
		return ecdsa.ParseUncompressedPublicKey(curve, point)
	case "OKP":
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if k.Curve != "Ed25519" || err != nil || len(x) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("curve %q: want Ed25519, with its 32 bytes", k.Curve)
		}
		return ed25519.PublicKey(x), nil
	}
	return nil, fmt.Errorf("type %q: want RSA, EC or OKP", k.Type)
}

// numbers reads two numbers as they are written in base64.
func numbers(a, b string) (x, y *big.Int, err error) {
	p, errA := base64.RawURLEncoding.DecodeString(a)
	q, errB := base64.RawURLEncoding.DecodeString(b)
	if errA != nil || errB != nil || len(p) == 0 || len(q) == 0 {
		return nil, nil, errors.New("its numbers are not base64url")
	}
	return new(big.Int).SetBytes(p), new(big.Int).SetBytes(q), nil
}
