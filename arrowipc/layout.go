package arrowipc

// Kind says which buffers a column has and how they are cut and joined. Several logical types share one kind.
type Kind uint8

// The kinds, with the column's own buffers in the order of the columnar format.
const (
	KindNull          Kind = iota // none
	KindBool                      // validity, bits
	KindFixed                     // validity, values of Column.Width bytes; indices of a dictionary too
	KindBinary                    // validity, int32 offsets, data
	KindLargeBinary               // validity, int64 offsets, data
	KindView                      // validity, 16-byte views, then as many data buffers as the batch's variadic count says
	KindList                      // validity, int32 offsets; maps too
	KindLargeList                 // validity, int64 offsets
	KindListView                  // validity, int32 offsets, int32 sizes
	KindLargeListView             // validity, int64 offsets, int64 sizes
	KindFixedSizeList             // validity
	KindStruct                    // validity
	KindSparseUnion               // type codes
	KindDenseUnion                // type codes, int32 offsets
	KindRunEnd                    // none; children are run ends and values
)

// ownBuffers is the number of buffers that a column of each kind has itself, variadic ones not counted.
var ownBuffers = [...]int{
	KindNull: 0, KindBool: 2, KindFixed: 2, KindBinary: 3, KindLargeBinary: 3, KindView: 2, KindList: 2,
	KindLargeList: 2, KindListView: 3, KindLargeListView: 3, KindFixedSizeList: 1, KindStruct: 1,
	KindSparseUnion: 1, KindDenseUnion: 2, KindRunEnd: 0,
}

// Span is a run of field nodes, of buffers and of view columns: everything that one column, or a run of adjacent
// columns, contributes to a record batch header. Ends are exclusive.
//
// Buffer positions do not count variadic buffers, whose number differs from batch to batch: the position in a batch of
// buffer b of a column is b plus the sum of the variadic counts of the View0 view columns before it.
type Span struct {
	Node0, Node1 int
	Buf0, Buf1   int
	View0, View1 int
}

// Column is the place of one field in every record batch of its schema. The tree of columns is that of the fields,
// except that a dictionary-encoded field is a leaf of kind [KindFixed].
type Column struct {
	Field    *Field
	Kind     Kind
	Width    int // bytes a value, of KindFixed; may be 0 (fixed-size binary of width 0)
	ListSize int // of KindFixedSizeList; may be 0
	Children []*Column

	// Span holds the column and all of its descendants: they are contiguous in preorder for every Arrow type. The
	// column's own node is Node0, its own buffers are [Buf0, Buf0+OwnBuffers()).
	Span
}

// OwnBuffers is how many buffers the column has itself, variadic data buffers not counted.
func (c *Column) OwnBuffers() int { return ownBuffers[c.Kind] }

// HasValidity reports whether the column's first own buffer is a validity bitmap.
func (c *Column) HasValidity() bool {
	switch c.Kind {
	case KindNull, KindSparseUnion, KindDenseUnion, KindRunEnd:
		return false
	}
	return true
}

// Layout is the place of every column of a schema in its record batches. It is immutable.
type Layout struct {
	Columns []*Column // top level, in schema order
	Span              // all of them: Node1, Buf1 and View1 are the totals

	// Dictionaries are the dictionaries that the columns need, one for each id, those that another's values need
	// before that one.
	Dictionaries []*DictionaryLayout
}

// NewLayout lays out fields that [ParseSchema] has accepted.
func NewLayout(fields []*Field) *Layout {
	l := layOut(fields)
	l.Dictionaries = dictionaries(fields)
	return l
}

// layOut is NewLayout without the dictionaries.
func layOut(fields []*Field) *Layout {
	l := &Layout{}
	for _, f := range fields {
		l.Columns = append(l.Columns, l.place(f))
	}
	return l
}

func (l *Layout) place(f *Field) *Column {
	c := &Column{Field: f}
	c.Kind, c.Width = kindOf(f)
	c.ListSize = f.Type.ListSize
	c.Node0, c.Buf0, c.View0 = l.Node1, l.Buf1, l.View1
	l.Node1++
	l.Buf1 += c.OwnBuffers()
	if c.Kind == KindView {
		l.View1++
	}
	if f.Dictionary == nil {
		for _, child := range f.Children {
			c.Children = append(c.Children, l.place(child))
		}
	}
	c.Node1, c.Buf1, c.View1 = l.Node1, l.Buf1, l.View1
	return c
}

// kindOf gives the kind of a field and, of a fixed-width one, its width in bytes.
func kindOf(f *Field) (Kind, int) {
	if f.Dictionary != nil {
		return KindFixed, f.Dictionary.IndexBits / 8
	}
	t := f.Type
	switch t.ID {
	case TypeNull:
		return KindNull, 0
	case TypeBool:
		return KindBool, 0
	case TypeInt, TypeFloatingPoint, TypeDecimal, TypeTime:
		return KindFixed, t.BitWidth / 8
	case TypeDate:
		return KindFixed, []int{4, 8}[t.Unit] // days, milliseconds
	case TypeTimestamp, TypeDuration:
		return KindFixed, 8
	case TypeInterval:
		return KindFixed, []int{4, 8, 16}[t.Unit] // months, days and time, months days and nanoseconds
	case TypeFixedSizeBinary:
		return KindFixed, t.ByteWidth
	case TypeBinary, TypeUtf8:
		return KindBinary, 0
	case TypeLargeBinary, TypeLargeUtf8:
		return KindLargeBinary, 0
	case TypeBinaryView, TypeUtf8View:
		return KindView, 0
	case TypeList, TypeMap:
		return KindList, 0
	case TypeLargeList:
		return KindLargeList, 0
	case TypeListView:
		return KindListView, 0
	case TypeLargeListView:
		return KindLargeListView, 0
	case TypeFixedSizeList:
		return KindFixedSizeList, 0
	case TypeStruct:
		return KindStruct, 0
	case TypeUnion:
		if t.Dense {
			return KindDenseUnion, 0
		}
		return KindSparseUnion, 0
	case TypeRunEndEncoded:
		return KindRunEnd, 0
	}
	panic("arrowipc: a field of unknown type was laid out") // ParseSchema lets none through
}
