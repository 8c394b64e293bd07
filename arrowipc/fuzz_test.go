package arrowipc

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// seeds are schema messages of one column of the zoo each: short ones are mutated to better purpose.
func seeds(tb testing.TB) [][]byte {
	var hdrs [][]byte
	for _, f := range zoo().Fields() {
		hdrs = append(hdrs, arrowHeader(tb, arrow.NewSchema([]arrow.Field{f}, nil)))
	}
	return hdrs
}

func FuzzReadMessage(f *testing.F) {
	for _, hdr := range seeds(f) {
		f.Add(hdr)
	}
	all := headers(f)
	for _, name := range []string{"batch", "compressed batch", "our batch", "our dictionary"} {
		f.Add(all[name])
	}
	f.Add(sharing(10, 8))
	f.Fuzz(func(t *testing.T, hdr []byte) {
		var m Message
		tryAll(t, &m, hdr)
		err := m.Read(hdr, Limits{})
		if err != nil || m.Batch == nil {
			return
		}
		var h HeaderBuilder
		var written []byte
		if m.Type == HeaderRecordBatch {
			written = h.RecordBatch(m.Batch, m.BodyLength, m.Metadata)
		} else {
			written = h.DictionaryBatch(m.Dictionary, m.Delta, m.Batch, m.BodyLength)
		}
		again, err := ReadMessage(written, Limits{})
		if err != nil {
			t.Fatalf("what was read and written is refused: %v", err)
		}
		if !sameBatch(again.Batch, m.Batch) || again.Dictionary != m.Dictionary || again.Delta != m.Delta {
			t.Fatalf("read %+v, then %+v", m.Batch, again.Batch)
		}
	})
}

func FuzzParseSchema(f *testing.F) {
	for _, hdr := range seeds(f) {
		f.Add(hdr, []byte{0x80, 1, 0})
		f.Add(hdr, []byte{0, 0})
	}
	f.Add(sharing(50, 2), []byte{0x80, 1, 0})
	f.Fuzz(func(t *testing.T, hdr, choice []byte) {
		s, err := ParseSchema(hdr, Limits{})
		if err != nil {
			return
		}
		if !bytes.Equal(s.Message(), hdr) {
			t.Fatal("the message is not what came in")
		}
		picks, _ := choose(s.Fields, choice, len(choice))
		p, err := s.Project(picks)
		if errors.Is(err, ErrLimit) && len(picks) > 1 {
			return // one column repeated too often
		}
		if err != nil {
			t.Fatalf("an accepted schema cannot be projected: %v", err)
		}
		sameAsParsed(t, p.Schema)
		checkTree(t, p.Tree, p.Schema.Layout.Columns)
		raw, err := EncapsulatedMessage(p.Schema.Encapsulated(), Limits{})
		if err != nil || !bytes.HasPrefix(raw, p.Schema.Message()) {
			t.Fatalf("the encapsulated form is another: %v", err)
		}
	})
}

// choose makes at most n legal picks out of bytes, and gives those that are left. A byte is an ordinal; with its high
// bit, and of a struct with children, the next byte says how many picks of the children follow.
func choose(fields []*Field, choice []byte, n int) ([]Pick, []byte) {
	var picks []Pick
	for ; n > 0 && len(choice) > 0 && len(fields) > 0; n-- {
		b := choice[0]
		choice = choice[1:]
		i := int(b&0x7F) % len(fields)
		pick := Pick{Ordinal: i}
		f := fields[i]
		if b&0x80 != 0 && len(choice) > 0 && f.Type.ID == TypeStruct && f.Dictionary == nil {
			pick.Children, choice = choose(f.Children, choice[1:], int(choice[0]%8))
		}
		picks = append(picks, pick)
	}
	return picks, choice
}
