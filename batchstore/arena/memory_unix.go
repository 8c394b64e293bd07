//go:build unix && !linux

package arena

import "golang.org/x/sys/unix"

// mapMemory reserves size bytes of addresses; memory comes with the first touch, page by page.
func mapMemory(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func unmapMemory(b []byte) error { return unix.Munmap(b) }

// adviseHuge reports that b has no huge pages: these systems have no such advice.
func adviseHuge([]byte, bool) bool { return false }

// decommit lets the system take the memory of whole pages when it wants it. Resident memory falls only then.
func decommit(b []byte) error { return unix.Madvise(b, unix.MADV_FREE) }
