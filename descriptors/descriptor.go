package descriptors

import (
	"bytes"
	"fmt"
)

const (
	readCommand = "read command"
	putCommand  = "put command"
)

// ReadFromPath returns the read that a descriptor's path names: the whole dataset, with defaults. The error is
// ErrBadName.
func ReadFromPath(path []string) (ReadCommand, error) {
	name, err := ParseName(path)
	if err != nil {
		return ReadCommand{}, err
	}
	return ReadCommand{Dataset: name}, nil
}

// ReadFromCommand returns the read that a descriptor's cmd asks for, under [DefaultLimits]. The error is ErrBadCommand
// (with ErrBadName or ErrFlightSQL where that is the reason) or ErrNotYet. Nothing of cmd is kept.
func ReadFromCommand(cmd []byte) (ReadCommand, error) { return DefaultLimits().ReadFromCommand(cmd) }

// ReadFromCommand is the function of the same name under these limits.
func (l Limits) ReadFromCommand(cmd []byte) (ReadCommand, error) {
	if err := checkForm(cmd, readCommand); err != nil {
		return ReadCommand{}, err
	}
	var c ReadCommand
	if err := parseObject(cmd, readCommand, readKeys, l, &c); err != nil {
		return ReadCommand{}, err
	}
	if c.Filter != nil && c.Substrait != nil {
		return ReadCommand{}, fmt.Errorf("%w: %s: filters and substrait are both given; say which rows in one of them",
			ErrBadCommand, readCommand)
	}
	return c, nil
}

// PutFromPath returns the put that a descriptor's path names: replace the whole dataset, with defaults. The error is
// ErrBadName.
func PutFromPath(path []string) (PutCommand, error) {
	name, err := ParseName(path)
	if err == nil {
		err = name.CheckNew()
	}
	if err != nil {
		return PutCommand{}, err
	}
	return PutCommand{Dataset: name, Mode: ModeReplace, Batching: BatchingAuto}, nil
}

// PutFromCommand returns the put that a descriptor's cmd asks for, under [DefaultLimits]. The errors are those of
// [ReadFromCommand]. Nothing of cmd is kept.
func PutFromCommand(cmd []byte) (PutCommand, error) { return DefaultLimits().PutFromCommand(cmd) }

// PutFromCommand is the function of the same name under these limits.
func (l Limits) PutFromCommand(cmd []byte) (PutCommand, error) {
	if err := checkForm(cmd, putCommand); err != nil {
		return PutCommand{}, err
	}
	c := PutCommand{Batching: BatchingAuto}
	if err := parseObject(cmd, putCommand, putKeys, l, &c); err != nil {
		return PutCommand{}, err
	}
	if c.Mode == "" && c.Transaction == "" {
		c.Mode = ModeReplace
	}
	if c.Level != 0 && c.Codec != CodecZstd {
		return PutCommand{}, fmt.Errorf(`%w: %s: level: it goes with "codec": "zstd" only; give that codec or leave the level out`,
			ErrBadCommand, putCommand)
	}
	return c, nil
}

// checkForm tells a client whose cmd is no JSON object at all what is expected.
func checkForm(cmd []byte, what string) error {
	const wanted = `send a JSON object such as {"dataset": "sales/2024"}, or a descriptor with a path`
	if message, ok := flightSQLMessage(cmd); ok {
		return fmt.Errorf("%w: %s: got %s of Flight SQL, and %w; %s", ErrBadCommand, what, quote(message), ErrFlightSQL, wanted)
	}
	text := bytes.TrimLeft(cmd, " \t\r\n")
	if len(text) == 0 {
		return fmt.Errorf("%w: %s: it is empty; %s", ErrBadCommand, what, wanted)
	}
	if text[0] != commandTicket {
		return fmt.Errorf("%w: %s: got %d bytes that begin with %s; %s",
			ErrBadCommand, what, len(cmd), quote(string(text[:min(len(text), quoteMax)])), wanted)
	}
	return nil
}
