package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/flightcache/flightcache/arrowipc"
)

// Sent is what can be told of a put before its rows have come: enough to see that an id was given to two different puts.
// Rows themselves are not compared.
type Sent struct {
	Mode   Mode
	Rows   *int64           // that there are to be; nil: the put does not say
	Schema *arrowipc.Schema // of the batches as they would be stored; nil: it is not known yet
}

var modeNames = []string{Replace: "replace", Append: "append", Create: "create"}

// sentText is what is remembered of a committed put, to be compared with one that is sent again.
func sentText(mode Mode, rows int64, schema *arrowipc.Schema) string {
	return fmt.Sprint(modeNames[mode], " ", rows, " ", schemaDigest(schema))
}

// commitText is what is remembered of a commit that lists these puts; nil is all.
func commitText(puts []string) string {
	if puts == nil {
		return "commit"
	}
	return "commit " + digestOf(puts)
}

// schemaDigest digests what appends compare.
func schemaDigest(s *arrowipc.Schema) string {
	var parts []string
	for _, f := range s.Fields {
		parts = append(parts, f.Name, f.TypeString(), strconv.FormatBool(f.Nullable))
	}
	return digestOf(parts)
}

func digestOf(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// again judges a put against what is remembered of the committed one of its id, "" for nothing. ErrResent.
func (s Sent) again(what string) error {
	parts := strings.Split(what, " ")
	if len(parts) != 3 {
		return nil
	}
	differs := ""
	switch {
	case parts[0] != modeNames[s.Mode]:
		differs = fmt.Sprintf("mode %s, now %s", parts[0], modeNames[s.Mode])
	case s.Rows != nil && parts[1] != strconv.FormatInt(*s.Rows, 10):
		differs = fmt.Sprintf("%s rows, now %d", parts[1], *s.Rows)
	case s.Schema != nil && parts[2] != schemaDigest(s.Schema):
		differs = "another schema"
	}
	if differs == "" {
		return nil
	}
	return fmt.Errorf("%w: the put that was committed under its put_id had %s; give each put an id of its own", ErrResent, differs)
}

// sameCommit judges a commit that is sent again: two lists of puts are compared, and no list is as good as any. ErrResent.
func sameCommit(what string, puts []string) error {
	if puts == nil || what == "" || what == commitText(nil) || what == commitText(puts) {
		return nil
	}
	return fmt.Errorf("%w: the transaction was committed with other puts, or in another order", ErrResent)
}
