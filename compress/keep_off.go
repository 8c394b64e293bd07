//go:build nocontexts

package compress

const keepingContexts = false
