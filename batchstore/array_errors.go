package batchstore

import "errors"

// ErrInvalidBatch says that a record batch contradicts itself or its schema: counts, lengths, offsets, views, type
// codes or run ends that the columnar format does not allow. The message names the column by its dotted path and says
// what is wrong where. The batch cannot be used; its producer has to be mended.
var ErrInvalidBatch = errors.New("invalid record batch")

// errTooBig says that row ranges cannot become one batch, because 32-bit offsets, 32-bit list or union positions, or
// the run ends' width cannot number what they would hold together. Join fewer rows.
var errTooBig = errors.New("too much for one record batch")
