//go:build !race

package gather

import "net"

// write sends the pieces, which it consumes.
func write(c net.Conn, pieces net.Buffers) error {
	_, err := pieces.WriteTo(c)
	return err
}
