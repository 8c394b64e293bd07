//go:build nogather

package gather

const referring = false
