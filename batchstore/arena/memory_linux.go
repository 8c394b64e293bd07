package arena

import "golang.org/x/sys/unix"

// mapMemory reserves size bytes of addresses; memory comes with the first touch, page by page. MAP_NORESERVE keeps the
// reserve out of the kernel's overcommit heuristic.
func mapMemory(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
}

func unmapMemory(b []byte) error { return unix.Munmap(b) }

// adviseHuge asks for transparent huge pages in b, or declines them, and reports whether b will have them.
func adviseHuge(b []byte, huge bool) bool {
	if huge {
		return unix.Madvise(b, unix.MADV_HUGEPAGE) == nil
	}
	// A kernel without huge pages knows no such advice, and gives none.
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	return false
}

// decommit gives the memory of whole pages back; they read as zeros afterwards.
func decommit(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }
