//go:build nostatistics

package batchstore

const measuring = false
