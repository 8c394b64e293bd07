package statistics

import "unicode/utf8"

// boundBytes sets the bounds of class Bytes from the least and the greatest value, each cut to no less than MaxBytes+1
// bytes, and copies what it keeps of them. Bounds of text are cut between characters, so that they can be shown.
func (c *Column) boundBytes(least, greatest []byte, text bool) {
	c.HasMin, c.MinExact = true, len(least) <= MaxBytes
	c.Min = BytesValue(cutDown(least, text))
	if len(greatest) <= MaxBytes {
		c.HasMax, c.Max, c.MaxExact = true, BytesValue(greatest), true
		return
	}
	if text && utf8.Valid(cutDown(greatest, true)) {
		c.Max.bytes, c.HasMax = raiseText(string(cutDown(greatest, true)))
	} else {
		c.Max.bytes, c.HasMax = raiseBytes(string(greatest[:MaxBytes]))
	}
}

// cutDown is the longest beginning of b that fits, of text without part of a character at its end.
func cutDown(b []byte, text bool) []byte {
	if len(b) <= MaxBytes {
		return b
	}
	if text {
		for n := MaxBytes; n > MaxBytes-utf8.UTFMax; n-- {
			if utf8.RuneStart(b[n]) {
				return b[:n]
			}
		}
	}
	return b[:MaxBytes]
}

// raiseBytes is the least string that comes after everything that begins with s: its last byte that is not 0xFF is
// raised and what follows is left out. There is none of bytes that are all 0xFF.
func raiseBytes(s string) (raised string, ok bool) {
	for last := len(s) - 1; last >= 0; last-- {
		if s[last] != 0xFF {
			return s[:last] + string([]byte{s[last] + 1}), true
		}
	}
	return "", false
}

// raiseText is raiseBytes in whole characters: the last that has a next one is raised. The order of bytes of UTF-8 is
// that of its characters, and U+E000 comes next after U+D7FF. A longer character may not fit any more; then it is the one
// before it that is raised.
func raiseText(s string) (raised string, ok bool) {
	const beforeSurrogates, afterSurrogates = 0xD7FF, 0xE000
	for s != "" {
		r, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		switch r {
		case utf8.MaxRune:
			continue
		case beforeSurrogates:
			r = afterSurrogates
		default:
			r++
		}
		if len(s)+utf8.RuneLen(r) <= MaxBytes {
			return s + string(r), true
		}
	}
	return "", false
}
