package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// checkValues tries the values of flags that the environment or a config file has, and the kinds of those on the command line. The
// error has all that cannot be taken: kong, which reads them again, would end with the first.
func checkValues(kctx *kong.Context, values configValues) error {
	given := map[*kong.Flag]bool{}
	for _, p := range kctx.Path {
		if p.Flag != nil {
			given[p.Flag] = true
		}
	}
	var errs []error
	for _, p := range kctx.Path {
		for _, flag := range p.Flags {
			if given[flag] {
				errs = append(errs, checkKind(flag, kctx.FlagValue(flag), "given"))
				continue
			}
			value, from := valueOf(flag, values)
			if value == nil {
				continue
			}
			target := reflect.New(flag.Target.Type()).Elem()
			set := flag.Set
			err := flag.Parse(kong.Scan().PushTyped(value, kong.FlagValueToken), target)
			flag.Set = set
			if err != nil {
				err = fmt.Errorf("%w (in %s)", err, from)
			} else {
				err = checkKind(flag, target.Interface(), "in "+from)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// valueOf is what the environment, or else a config file, has for a flag, and where it is from; nil: nothing.
func valueOf(flag *kong.Flag, values configValues) (value any, from string) {
	for _, name := range flag.Envs {
		if text, ok := os.LookupEnv(name); ok {
			return text, "the environment's " + name
		}
	}
	return values[flag.Name], "the config file"
}

// checkKind tells whether a flag of a few kinds has one of them.
func checkKind(flag *kong.Flag, value any, from string) error {
	if flag.Enum == "" || flag.EnumMap()[fmt.Sprint(value)] {
		return nil
	}
	kinds := strings.ReplaceAll(strings.Trim(flag.Enum, ","), ",", ", ")
	return fmt.Errorf("--%s must be one of %s, not %q (%s)", flag.Name, kinds, fmt.Sprint(value), from)
}
