//go:build !nocontexts

package compress

// keepingContexts says that contexts are kept for the next buffer. A build with the tag nocontexts makes each anew: only
// to weigh what keeping them gains.
const keepingContexts = true
