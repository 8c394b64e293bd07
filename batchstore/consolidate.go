package batchstore

// Parts of a dictionary are put together when there are looseParts of them and they are small: a client may send a
// delta for every value, and a part takes many times the memory of a short value.
const (
	looseParts = 256
	looseBytes = 4 << 20
)

// scattered reports whether the chain has got many small parts since consolidate was called.
func (c *chain) scattered() bool { return len(c.values.parts)-c.settledParts >= looseParts }

// consolidate puts the parts together that came since it was last called, or leaves them be where they are large. Nobody
// may be reading the chain's values.
func (c *chain) consolidate(s *Store, m lender) error {
	v := c.values
	first := c.settledParts
	runs := v.runs()[first:]
	bytes := int64(0)
	for _, r := range runs {
		bytes += r.b.bytes()
	}
	if bytes > looseBytes {
		c.settledParts, c.settledBlocks = len(v.parts), len(c.blocks)
		return nil
	}
	block, part, err := s.flatten(m, c.layout.Values.Columns, runs)
	if err != nil {
		return err
	}
	for i := range c.blocks[c.settledBlocks:] {
		Free(&c.blocks[c.settledBlocks+i])
	}
	c.blocks = c.blocks[:c.settledBlocks]
	if block.B != nil {
		c.blocks = append(c.blocks, block)
	}
	shorter := *v
	shorter.parts, shorter.starts, shorter.rows = v.parts[:first:first], v.starts[:first:first], v.starts[first]
	c.values = shorter.with(part)
	c.settledParts, c.settledBlocks = first+1, len(c.blocks)
	return nil
}
