package identity

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// named is a line of a file: a name, and what it is known by.
type named struct {
	line        int
	name, value string
}

// lines reads lines NAME:VALUE. Empty lines, and those that begin with #, are passed over.
func lines(text []byte) ([]named, error) {
	var out []named
	var errs []error
	s := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || value == "" {
			errs = append(errs, fmt.Errorf("line %d: want NAME:HASH", n)) // without the line: it may have a secret
			continue
		}
		out = append(out, named{n, name, value})
	}
	return out, errors.Join(append(errs, s.Err())...)
}
