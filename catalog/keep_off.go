//go:build nofacts

package catalog

const keepingFacts = false
