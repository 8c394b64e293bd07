package descriptors

import (
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestFromPath(t *testing.T) {
	read, err := ReadFromPath([]string{"sales", "2024"})
	if want := (ReadCommand{Dataset: "sales/2024"}); err != nil || !reflect.DeepEqual(read, want) {
		t.Errorf("read: %+v, %v", read, err)
	}
	put, err := PutFromPath([]string{"sales", "2024"})
	if want := (PutCommand{Dataset: "sales/2024", Mode: ModeReplace, Batching: BatchingAuto}); err != nil || !reflect.DeepEqual(put, want) {
		t.Errorf("put: %+v, %v", put, err)
	}
	byCommand, err := PutFromCommand([]byte(`{"dataset":"sales/2024"}`))
	if err != nil || !reflect.DeepEqual(put, byCommand) {
		t.Errorf("a put by path is %+v, by command %+v, %v", put, byCommand, err)
	}
	for _, path := range [][]string{nil, {""}, {"a/b"}, {`{"dataset":"x"}`}} {
		_, err := ReadFromPath(path)
		checkRefused(t, err, ErrBadName, "")
		_, err = PutFromPath(path)
		checkRefused(t, err, ErrBadName, "")
	}
}

// anyMessage packs a message as google.protobuf.Any, the URL first unless reversed.
func anyMessage(url string, value []byte, reversed bool) []byte {
	field := func(tag byte, b []byte) []byte {
		return append(binary.AppendUvarint([]byte{tag}, uint64(len(b))), b...)
	}
	first, second := field(0x0a, []byte(url)), field(0x12, value)
	if reversed {
		first, second = second, first
	}
	return append(first, second...)
}

func TestFlightSQLIsToldApart(t *testing.T) {
	const url = "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"
	for _, reversed := range []bool{false, true} {
		cmd := anyMessage(url, []byte("\x0a\x08SELECT 1"), reversed)
		_, err := ReadFromCommand(cmd)
		checkRefused(t, err, ErrFlightSQL, `"CommandStatementQuery" of Flight SQL, and Flight SQL is not spoken here`)
		checkRefused(t, err, ErrBadCommand, "read command")
		_, err = PutFromCommand(cmd)
		checkRefused(t, err, ErrFlightSQL, "put command")
		checkRefused(t, err, ErrBadCommand, "CommandStatementQuery")
	}
	for _, cmd := range [][]byte{
		anyMessage("type.googleapis.com/google.protobuf.Duration", nil, false),
		anyMessage(url, nil, false)[:20],
		{0x0a}, {0x0a, 0x80}, {0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, {0x12, 0x00},
		[]byte(url),
	} {
		_, err := ReadFromCommand(cmd)
		checkRefused(t, err, ErrBadCommand, "send a JSON object")
		if errors.Is(err, ErrFlightSQL) {
			t.Errorf("%q is taken for Flight SQL", cmd)
		}
	}
}

func TestLongForeignCommandIsRefusedBriefly(t *testing.T) {
	_, err := ReadFromCommand([]byte(strings.Repeat("SELECT ", 1<<18)))
	checkRefused(t, err, ErrBadCommand, "1835008 bytes that begin with")
	if err != nil && len(err.Error()) > 400 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
}
