package descriptors

import (
	"bytes"
	"encoding/binary"
)

// flightSQLMessage returns the name of the Flight SQL message that cmd packs, and whether it packs one. Flight SQL sends
// its commands as google.protobuf.Any: field 1 is the type's URL, field 2 the message, both length-delimited.
func flightSQLMessage(cmd []byte) (string, bool) {
	const (
		typeURL = 1<<3 | 2 // tags: field number and wire type
		value   = 2<<3 | 2
	)
	for len(cmd) > 0 && (cmd[0] == typeURL || cmd[0] == value) {
		size, n := binary.Uvarint(cmd[1:])
		if n <= 0 || size > uint64(len(cmd)-1-n) {
			return "", false
		}
		field, rest := cmd[1+n:1+n+int(size)], cmd[1+n+int(size):]
		if cmd[0] == typeURL {
			name, ok := bytes.CutPrefix(field, []byte("type.googleapis.com/arrow.flight.protocol.sql."))
			return string(name), ok
		}
		cmd = rest
	}
	return "", false
}

// flightSQLActions are the actions of Flight SQL. Those that end something are of use to nobody who could not begin it; they are
// here so that a client that cleans up is told the same.
var flightSQLActions = []string{
	"CreatePreparedStatement", "CreatePreparedSubstraitPlan", "ClosePreparedStatement",
	"BeginTransaction", "EndTransaction", "BeginSavepoint", "EndSavepoint", "CancelQuery",
}
