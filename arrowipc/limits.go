package arrowipc

// Limits bound what a message from outside may ask for. A zero field means its default.
type Limits struct {
	Fields        int // fields of a schema, children included; default 20,000
	Depth         int // nesting of fields; default 64
	NameBytes     int // bytes of one field name; default 64 KiB
	MetadataBytes int // bytes of all custom metadata of one message; default 16 MiB
	HeaderBytes   int // bytes of one message header; default 64 MiB
}

// Defaults of [Limits].
const (
	DefaultFields        = 20_000
	DefaultDepth         = 64
	DefaultNameBytes     = 64 << 10
	DefaultMetadataBytes = 16 << 20
	DefaultHeaderBytes   = 64 << 20
)

// WithDefaults is l with its zero fields filled in.
func (l Limits) WithDefaults() Limits {
	fill := func(p *int, d int) {
		if *p == 0 {
			*p = d
		}
	}
	fill(&l.Fields, DefaultFields)
	fill(&l.Depth, DefaultDepth)
	fill(&l.NameBytes, DefaultNameBytes)
	fill(&l.MetadataBytes, DefaultMetadataBytes)
	fill(&l.HeaderBytes, DefaultHeaderBytes)
	return l
}
