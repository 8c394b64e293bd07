package permissions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `
roles:
  analyst: {read: ["sales/**"], write: ["scratch/*"]}
  operator: {admin: ["**"]}
  guest: {read: ["public"]}
callers:
  alice: [analyst]
  root: [operator]
  "*": [guest]
`

func TestRules(t *testing.T) {
	r, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		caller  string
		roles   []string
		dataset string
		most    Right // -1: none
	}{
		{"alice", nil, "sales/2024", Read}, {"alice", nil, "scratch/a", Write}, {"alice", nil, "scratch/a/b", -1},
		{"alice", nil, "public", Read}, {"alice", nil, "other", -1}, {"root", nil, "anything/at/all", Admin},
		{"bob", nil, "public", Read}, {"bob", nil, "sales/2024", -1}, {"bob", []string{"analyst", "absent"}, "sales/2024", Read},
		{"*", nil, "sales/2024", -1}, {"analyst", nil, "sales/2024", -1},
	} {
		for right := Read; right <= Admin; right++ {
			if got := r.Allow(c.caller, c.roles, right, c.dataset); got != (right <= c.most) {
				t.Errorf("%s %v may %v %s: %t", c.caller, c.roles, right, c.dataset, got)
			}
		}
	}
	if !r.AllowAll("root", nil, Admin) || r.AllowAll("alice", nil, Read) || !r.AllowAll("bob", []string{"operator"}, Write) {
		t.Error("rights on all datasets")
	}
	if !r.AllowAny("alice", nil, Write) || r.AllowAny("alice", nil, Admin) || r.AllowAny("bob", nil, Write) || !r.AllowAny("bob", nil, Read) ||
		!r.AllowAny("bob", []string{"absent", "operator"}, Admin) {
		t.Error("rights on any dataset")
	}
}

func TestBadRules(t *testing.T) {
	for text, want := range map[string]string{
		"roles: [a]":                        "sequence",
		"rolls: {}":                         "rolls",
		"roles: {a: {read: [x], own: [y]}}": "own",
		"roles: {a: {read: ['x//y', '**x', '/']}}":      "x//y",
		"roles: {a: {write: ['a/**/**']}}":              "** follows **",
		"roles: {a: {}}\ncallers: {alice: [a, b, 'c']}": `no role "b"`,
		"callers: {alice: a}":                           "",
	} {
		r, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
	_, err := Parse([]byte("roles: {a: {read: ['x//y', '**x']}}\ncallers: {b: [c]}"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("of three faults: %v", err)
	}
}

func TestBadFileKeepsTheOldRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, failed := 0, []string{}
	f, err := Open(path, func() { changed++ }, func(err error) { failed = append(failed, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	os.WriteFile(path, []byte("callers: {eve: [god]}"), 0o600)
	f.Look()
	if len(failed) != 1 || !strings.Contains(failed[0], path) || !strings.Contains(failed[0], `"god"`) || !f.Get().Allow("alice", nil, Read, "sales/x") {
		t.Errorf("failed %q", failed)
	}
	os.WriteFile(path, []byte("roles: {}"), 0o600)
	f.Look()
	if changed != 1 || f.Get().Allow("alice", nil, Read, "sales/x") {
		t.Errorf("changed %d times", changed)
	}
}
