package arrowipc

import (
	"fmt"
	"strings"
)

var unitNames = [...]string{unitSecond: "s", unitMillisecond: "ms", unitMicrosecond: "us", unitNanosecond: "ns"}

// plainNames are the spellings of the types that have no parameters.
var plainNames = [...]string{
	TypeNull: "null", TypeBinary: "binary", TypeUtf8: "string", TypeBool: "bool", TypeLargeBinary: "large_binary",
	TypeLargeUtf8: "large_string", TypeBinaryView: "binary_view", TypeUtf8View: "string_view",
}

// TypeString spells the field's type as pyarrow does: "timestamp[us, tz=UTC]", "list<item: int64>",
// "dictionary<values=string, indices=int8, ordered=0>". An extension type is spelled as its storage type.
func (f *Field) TypeString() string {
	var b strings.Builder
	f.spell(&b)
	return b.String()
}

func (f *Field) spell(b *strings.Builder) {
	d := f.Dictionary
	if d == nil {
		f.spellValues(b)
		return
	}
	b.WriteString("dictionary<values=")
	f.spellValues(b)
	ordered := 0
	if d.Ordered {
		ordered = 1
	}
	fmt.Fprintf(b, ", indices=%s, ordered=%d>", intName(d.IndexBits, d.Signed), ordered)
}

// spellValues spells the type without regard to dictionary encoding.
func (f *Field) spellValues(b *strings.Builder) {
	t := f.Type
	switch t.ID {
	case TypeInt:
		b.WriteString(intName(t.BitWidth, t.Signed))
	case TypeFloatingPoint:
		b.WriteString(map[int]string{16: "halffloat", 32: "float", 64: "double"}[t.BitWidth])
	case TypeDecimal:
		fmt.Fprintf(b, "decimal%d(%d, %d)", t.BitWidth, t.Precision, t.Scale)
	case TypeDate:
		b.WriteString([]string{"date32[day]", "date64[ms]"}[t.Unit])
	case TypeTime:
		fmt.Fprintf(b, "time%d[%s]", t.BitWidth, unitNames[t.Unit])
	case TypeTimestamp:
		zone := ""
		if t.Timezone != "" {
			zone = ", tz=" + t.Timezone
		}
		fmt.Fprintf(b, "timestamp[%s%s]", unitNames[t.Unit], zone)
	case TypeDuration:
		fmt.Fprintf(b, "duration[%s]", unitNames[t.Unit])
	case TypeInterval:
		b.WriteString([]string{"month_interval", "day_time_interval", "month_day_nano_interval"}[t.Unit])
	case TypeFixedSizeBinary:
		fmt.Fprintf(b, "fixed_size_binary[%d]", t.ByteWidth)
	case TypeList:
		f.spellNested(b, "list")
	case TypeLargeList:
		f.spellNested(b, "large_list")
	case TypeListView:
		f.spellNested(b, "list_view")
	case TypeLargeListView:
		f.spellNested(b, "large_list_view")
	case TypeFixedSizeList:
		f.spellNested(b, "fixed_size_list")
		fmt.Fprintf(b, "[%d]", t.ListSize)
	case TypeStruct:
		f.spellNested(b, "struct")
	case TypeUnion:
		if t.Dense {
			f.spellNested(b, "dense_union")
		} else {
			f.spellNested(b, "sparse_union")
		}
	case TypeRunEndEncoded:
		f.spellNested(b, "run_end_encoded")
	case TypeMap:
		f.spellMap(b)
	default:
		b.WriteString(plainNames[t.ID])
	}
}

func intName(bits int, signed bool) string {
	if signed {
		return fmt.Sprintf("int%d", bits)
	}
	return fmt.Sprintf("uint%d", bits)
}

// spellNested spells a type whose children are written by name.
func (f *Field) spellNested(b *strings.Builder, name string) {
	b.WriteString(name)
	b.WriteByte('<')
	for i, child := range f.Children {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(child.Name)
		b.WriteString(": ")
		child.spell(b)
		if !child.Nullable && f.Type.ID != TypeRunEndEncoded {
			b.WriteString(" not null")
		}
		if i < len(f.Type.TypeCodes) {
			fmt.Fprintf(b, "=%d", f.Type.TypeCodes[i])
		}
	}
	b.WriteByte('>')
}

// spellMap spells a map. Its children's names have no meaning and are left out.
func (f *Field) spellMap(b *strings.Builder) {
	b.WriteString("map<")
	if len(f.Children) == 1 && len(f.Children[0].Children) == 2 {
		entries := f.Children[0].Children
		entries[0].spell(b)
		b.WriteString(", ")
		entries[1].spell(b)
	}
	if f.Type.Sorted {
		b.WriteString(", keys_sorted")
	}
	b.WriteByte('>')
}
