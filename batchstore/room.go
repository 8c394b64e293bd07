package batchstore

import "github.com/flightcache/flightcache/arrowipc"

// HeaderRoom is what messages of all but wide schemas need beside their body: header and framing, in bytes.
const HeaderRoom = 64 << 10

// headerBytes is the most that the header and the framing of a batch of these counts take, without custom metadata: 16
// bytes a node and a buffer, and for each view column its count and the one data buffer that a batch made here has.
func headerBytes(s arrowipc.Span) int64 {
	return 512 + 16*int64(s.Node1+s.Buf1) + 24*int64(s.View1)
}

// storedLimit is the most bytes of a stored body of this layout: less than Options.MaxMessage where the header is so
// large that it would not find room beside it. A part of it is always left, whatever the header.
func (s *Store) storedLimit(l *arrowipc.Layout) int64 {
	most := s.opts.MaxMessage
	return max(most-max(headerBytes(l.Span)-HeaderRoom, 0), most/4)
}

// bodyLimit is the most bytes of a body in a message of at most most bytes, 0 being no limit. Dictionaries may be sent
// as their values, and so count as if they were.
func bodyLimit(most int64, l *arrowipc.Layout) int64 {
	if most == 0 {
		return 0
	}
	header := headerBytes(l.Span)
	for _, d := range l.Dictionaries {
		header += headerBytes(d.Values.Span)
	}
	return max(most-header, most/4)
}
