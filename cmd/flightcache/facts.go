package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// fact is one key of a JSON object, in the order in which the server wrote it.
type fact struct {
	key   string
	value json.RawMessage
}

// parseFacts reads one JSON object and keeps the order of its keys: the server orders them for reading. Keys that this
// program does not know are kept, so that a newer server's facts are shown too.
func parseFacts(text []byte) ([]fact, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	open, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("facts: %w", err)
	}
	if open != json.Delim('{') {
		return nil, fmt.Errorf("facts: want a JSON object, got %v", open)
	}
	var facts []fact
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("facts: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("facts: key %v: %w", key, err)
		}
		facts = append(facts, fact{key: key.(string), value: value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("facts: %w", err)
	}
	return facts, nil
}

// columnFacts are a column's facts as the server reports them. A fact that is absent is nil.
type columnFacts struct {
	Name         string          `json:"name"`
	Type         string          `json:"type"`
	DecodedBytes *int64          `json:"decoded_bytes"`
	StoredBytes  *int64          `json:"stored_bytes"`
	NullCount    *int64          `json:"null_count"`
	Min          json.RawMessage `json:"min"`
	Max          json.RawMessage `json:"max"`
}

// datasetFacts are the facts that listings show.
type datasetFacts struct {
	Dataset      string        `json:"dataset"`
	Generation   string        `json:"generation"`
	Rows         *int64        `json:"rows"`
	Batches      *int64        `json:"batches"`
	DecodedBytes *int64        `json:"decoded_bytes"`
	StoredBytes  *int64        `json:"stored_bytes"`
	Codec        string        `json:"codec"`
	Columns      []columnFacts `json:"columns"`
}

// writeJSON writes a JSON value indented, with a newline at its end.
func writeJSON(w io.Writer, text []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

// writeFacts writes facts as lines of a name and a value, without the keys in skip.
func writeFacts(w io.Writer, facts []fact, skip ...string) error {
	t := table{plain: true, columns: []tableColumn{{}, {}}}
next:
	for _, f := range facts {
		for _, s := range skip {
			if f.key == s {
				continue next
			}
		}
		t.add(strings.ReplaceAll(f.key, "_", " "), factText(f.key, f.value))
	}
	return t.write(w)
}

// factText writes a fact's value for a person: numbers with separators, bytes with their unit as well.
func factText(key string, value json.RawMessage) string {
	var number json.Number
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return string(value)
	}
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		return v
	case json.Number:
		number = v
	default:
		var out bytes.Buffer
		if err := json.Compact(&out, value); err != nil {
			return string(value)
		}
		return out.String()
	}
	n, err := number.Int64()
	if err != nil {
		return number.String()
	}
	if strings.HasSuffix(key, "_bytes") || strings.HasPrefix(key, "bytes_") {
		if n >= 1024 {
			return fmt.Sprintf("%s (%s)", thousands(n), humanBytes(n))
		}
		return fmt.Sprintf("%s B", thousands(n))
	}
	return thousands(n)
}
