package permissions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not []string
	}{
		{"sales", []string{"sales"}, []string{"sale", "sales/x", "Sales"}},
		{"sales/*", []string{"sales/2024"}, []string{"sales", "sales/a/b", "sale/2024"}},
		{"sales/**", []string{"sales", "sales/a", "sales/a/b/c"}, []string{"salesx", "x/sales", "salesx/a"}},
		{"**", []string{"a", "a/b/c/d/e/f/g/h"}, nil},
		{"**/raw", []string{"raw", "a/raw", "a/b/raw"}, []string{"raw/a", "a/rawx"}},
		{"a/**/z", []string{"a/z", "a/b/z", "a/b/c/z"}, []string{"a", "z", "a/b"}},
		{"**/b/**", []string{"b", "a/b", "b/c", "a/b/c"}, []string{"a", "bb"}},
		{"*", []string{"a", "long name"}, []string{"a/b"}},
		{"20*-q*", []string{"2024-q1", "20-q"}, []string{"2024", "2024-x", "x2024-q1"}},
		{"*a*b*", []string{"ab", "xaxbx", "aab"}, []string{"ba", "a", "b"}},
		{"*ab", []string{"ab", "abab", "xab"}, []string{"aba"}},
		{"a*a", []string{"aa", "aba"}, []string{"a"}},
	} {
		p, err := parsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		for _, name := range c.yes {
			if !p.matches(strings.Split(name, "/")) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for _, name := range c.not {
			if p.matches(strings.Split(name, "/")) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
}

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
