package descriptors

import (
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
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		for _, name := range c.yes {
			if !p.Matches(strings.Split(name, "/")) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for _, name := range c.not {
			if p.Matches(strings.Split(name, "/")) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
}

func TestBadPatterns(t *testing.T) {
	for s, want := range map[string]string{
		"": "empty segment", "a//b": "empty segment", "a**": "stands alone", "**/**": "follows",
		"a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r": "too many segments",
	} {
		if _, err := ParsePattern(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", s, err, want)
		}
	}
	if p, err := ParsePattern("sales/**/q*"); err != nil || p.String() != "sales/**/q*" {
		t.Errorf("%v, %v", p, err)
	}
}
