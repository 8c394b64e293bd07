//go:build race

package gather

import "net"

// write sends the pieces one by one: the race detector takes what was done before a write to come before what is done after the
// read of it by the same process, and knows nothing of writev.
func write(c net.Conn, pieces net.Buffers) error {
	for _, p := range pieces {
		if _, err := c.Write(p); err != nil {
			return err
		}
	}
	return nil
}
