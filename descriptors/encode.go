package descriptors

import "strconv"

// encoder writes one JSON object in canonical form: no white space, the order of the calls, each string in its shortest
// escaping. So a canonical command is never longer than the text that it was parsed from, and stays within its limit.
type encoder struct {
	buf []byte
}

func (e *encoder) key(name string) {
	if len(e.buf) == 0 {
		e.buf = append(e.buf, '{')
	} else {
		e.buf = append(e.buf, ',')
	}
	e.buf = appendString(e.buf, name)
	e.buf = append(e.buf, ':')
}

func (e *encoder) text(key, value string) {
	e.key(key)
	e.buf = appendString(e.buf, value)
}

func (e *encoder) integer(key string, value int64) {
	e.key(key)
	e.buf = strconv.AppendInt(e.buf, value, 10)
}

func (e *encoder) boolean(key string, value bool) {
	e.key(key)
	e.buf = strconv.AppendBool(e.buf, value)
}

// list writes a list, each element by its append function.
func list[E any](e *encoder, key string, elements []E, element func(E, []byte) []byte) {
	e.key(key)
	e.buf = appendList(e.buf, elements, element)
}

// appendList appends the elements as a JSON list.
func appendList[E any](buf []byte, elements []E, element func(E, []byte) []byte) []byte {
	buf = append(buf, '[')
	for i, v := range elements {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = element(v, buf)
	}
	return append(buf, ']')
}

// finish returns the object. The encoder is used up.
func (e *encoder) finish() []byte {
	if len(e.buf) == 0 {
		return []byte("{}")
	}
	return append(e.buf, '}')
}

// appendString appends s as a JSON string. Only what JSON demands is escaped (RFC 8259, section 7).
func appendString(buf []byte, s string) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			buf = append(buf, '\\', c)
		case c >= 0x20:
			buf = append(buf, c)
		case c == '\b':
			buf = append(buf, '\\', 'b')
		case c == '\t':
			buf = append(buf, '\\', 't')
		case c == '\n':
			buf = append(buf, '\\', 'n')
		case c == '\f':
			buf = append(buf, '\\', 'f')
		case c == '\r':
			buf = append(buf, '\\', 'r')
		default:
			buf = append(buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	return append(buf, '"')
}
