package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"github.com/flightcache/flightcache/descriptors"
)

// maxConfigBytes bounds a config file: a file of flags is small, and YAML aliases make large ones costly.
const maxConfigBytes = 1 << 20

// errUnknownKey is the error of a config file whose key names no flag.
var errUnknownKey = errors.New("unknown key")

// BeforeReset makes the file that --config (or FLIGHTCACHE_CONFIG) names a source of flags that were given neither on
// the command line nor in the environment, and reports all values that cannot be taken. Kong calls it once the command line
// was read, and before the environment is.
func (c *cli) BeforeReset(kctx *kong.Context) error {
	var path string
	for _, flag := range kctx.Model.Flags {
		if flag.Name == "config" {
			if path, _ = kctx.FlagValue(flag).(string); path == "" {
				value, _ := valueOf(flag, nil)
				path, _ = value.(string)
			}
		}
	}
	var values configValues
	var err error
	if path != "" {
		values, err = loadConfig(path, flagNames(kctx.Model.Node))
	}
	if err := errors.Join(err, checkValues(kctx, values)); err != nil {
		return err
	}
	if path != "" {
		kctx.AddResolver(values)
	}
	return nil
}

// configValues holds a config file's values by flag name; it is a kong.Resolver. A value is a string, or []any of
// strings for a flag that may be repeated, or map[string]any for one of NAME=VALUE pairs.
type configValues map[string]any

// Validate has nothing left to check: loadConfig did.
func (v configValues) Validate(*kong.Application) error { return nil }

// Resolve gives a flag its value from the file, unless the environment has one: kong asks resolvers after the
// environment and would let them win.
func (v configValues) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	return v[flag.Name], nil
}

// loadConfig reads the YAML file at path. Every key must be in known, the sorted names of all flags of all subcommands,
// so that one file can serve the server and the client; the error lists every key that is not.
func loadConfig(path string, known []string) (configValues, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(text) > maxConfigBytes {
		return nil, fmt.Errorf("config: %s is larger than %d bytes", path, maxConfigBytes)
	}
	var raw map[string]any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("config: %s: %s", path, yaml.FormatError(err, false, false))
	}
	keys := make([]string, 0, len(raw))
	for key := range raw {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	values := make(configValues, len(raw))
	var errs []error
	for _, key := range keys {
		if _, ok := slices.BinarySearch(known, key); !ok {
			errs = append(errs, fmt.Errorf("config: %s: %w %q%s", path, errUnknownKey, key, didYouMean(key, known)))
			continue
		}
		value, err := configValue(raw[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("config: %s: key %q: %w", path, key, err))
			continue
		}
		values[key] = value
	}
	return values, errors.Join(errs...)
}

// configValue turns a YAML value into what kong's flag decoders take.
func configValue(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			s, err := configScalar(item)
			if err != nil {
				return nil, err
			}
			list[i] = s
		}
		return list, nil
	case map[string]any:
		pairs := make(map[string]any, len(v))
		for key, item := range v {
			s, err := configScalar(item)
			if err != nil {
				return nil, err
			}
			pairs[key] = s
		}
		return pairs, nil
	}
	return configScalar(v)
}

func configScalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	case nil:
		return "", errors.New("has no value; leave the key out instead")
	}
	return "", fmt.Errorf("a flag cannot take a value of this shape (%T)", v)
}

// flagNames lists the names that a config file may use, sorted.
func flagNames(node *kong.Node) []string {
	var names []string
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		for _, flag := range n.Flags {
			if flag.Name != "help" && flag.Name != "config" {
				names = append(names, flag.Name)
			}
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(node)
	sort.Strings(names)
	return slices.Compact(names)
}

// didYouMean names the candidate nearest to word, as a clause to end a message with, or nothing if none is near.
func didYouMean(word string, candidates []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		if d := descriptors.EditDistance(strings.ToLower(word), c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
