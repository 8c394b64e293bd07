package permissions

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/flightcache/flightcache/descriptors"
	"github.com/flightcache/flightcache/flight/reload"
)

// Right is what one may do with a dataset. A higher one includes the lower ones.
type Right int

// Rights.
const (
	Read  Right = iota // see that it is there, its facts, and its rows
	Write              // put, drop, transactions
	Admin              // pin, evict, compact; of all datasets: the server's counters
)

// String is the word for it.
func (r Right) String() string { return [...]string{"read", "write", "administer"}[r] }

// everyone stands for all callers that are known.
const everyone = "*"

// Rules are what one file says.
type Rules struct {
	roles   map[string][Admin + 1][]descriptors.Pattern
	callers map[string][]string
}

// file is the YAML.
type file struct {
	Roles   map[string]role     `yaml:"roles"`
	Callers map[string][]string `yaml:"callers"`
}

type role struct {
	Read  []string `yaml:"read"`
	Write []string `yaml:"write"`
	Admin []string `yaml:"admin"`
}

// Parse reads the YAML of a file. The error has all that is wrong.
func Parse(text []byte) (*Rules, error) {
	var f file
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	r := &Rules{roles: map[string][Admin + 1][]descriptors.Pattern{}, callers: f.Callers}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.Roles)) {
		var rights [Admin + 1][]descriptors.Pattern
		for right, list := range [][]string{f.Roles[name].Read, f.Roles[name].Write, f.Roles[name].Admin} {
			for _, s := range list {
				p, err := descriptors.ParsePattern(s)
				if err != nil {
					errs = append(errs, fmt.Errorf("role %q: pattern %q: %w", name, s, err))
				}
				for lower := range right + 1 {
					rights[lower] = append(rights[lower], p)
				}
			}
		}
		r.roles[name] = rights
	}
	for _, caller := range slices.Sorted(maps.Keys(f.Callers)) {
		for _, role := range f.Callers[caller] {
			if _, ok := f.Roles[role]; !ok {
				errs = append(errs, fmt.Errorf("caller %q: there is no role %q", caller, role))
			}
		}
	}
	return r, errors.Join(errs...)
}

// Allow tells whether a caller, which brings along roles, has a right on a dataset. A role that there is not is none.
func (r *Rules) Allow(caller string, roles []string, right Right, dataset string) bool {
	name := strings.Split(dataset, "/")
	return r.has(caller, roles, right, func(p descriptors.Pattern) bool { return p.Matches(name) })
}

// AllowAny tells whether there are names of datasets, of some that are there or not, on which a caller has a right.
func (r *Rules) AllowAny(caller string, roles []string, right Right) bool {
	return r.has(caller, roles, right, func(descriptors.Pattern) bool { return true })
}

// AllowAll tells whether a caller has a right on all datasets, whatever their names: by the pattern **.
func (r *Rules) AllowAll(caller string, roles []string, right Right) bool {
	return r.has(caller, roles, right, func(p descriptors.Pattern) bool { return len(p) == 1 && p[0] == "**" })
}

// has tells whether a caller has a right on the names of such a pattern.
func (r *Rules) has(caller string, roles []string, right Right, such func(descriptors.Pattern) bool) bool {
	for _, list := range [][]string{r.callers[caller], roles, r.callers[everyone]} {
		for _, role := range list {
			if slices.ContainsFunc(r.roles[role][right], such) {
				return true
			}
		}
	}
	return false
}

// File is a file of rules, read again when it changes. It belongs to who opened it, who closes it.
type File struct{ *reload.Value[*Rules] }

// Open reads a file. Changed is told of each new content but the first, failed why one is of no use; both may be nil.
func Open(path string, changed func(), failed func(error)) (*File, error) {
	v, err := reload.Open(reload.Options[*Rules]{
		Files: []string{path},
		Parse: func(contents [][]byte) (*Rules, error) {
			r, err := Parse(contents[0])
			if err != nil {
				return nil, fmt.Errorf("permissions: %s: %w", path, err)
			}
			return r, nil
		},
		Changed: func(*Rules) {
			if changed != nil {
				changed()
			}
		},
		Failed: failed,
	})
	if err != nil {
		return nil, err
	}
	return &File{v}, nil
}
