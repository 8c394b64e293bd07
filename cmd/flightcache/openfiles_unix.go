//go:build unix

package main

import "syscall"

// openFiles is how many descriptors the process may have, where the system says so.
func openFiles() (uint64, bool) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
