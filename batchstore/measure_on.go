//go:build !nostatistics

package batchstore

// measuring says that batches are measured when they are put. A build with the tag nostatistics leaves it out: only to
// weigh what it costs. Filters of such a server have nothing to go by.
const measuring = true
