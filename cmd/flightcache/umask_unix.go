//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// umask returns the process's file mode creation mask. Reading it means setting it for a moment, so it is for a program
// that has nothing else going on.
func umask() fs.FileMode {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return fs.FileMode(mask)
}

// privateUmask lets files that are made be their owner's alone, until restore is called.
func privateUmask() (restore func()) {
	mask := syscall.Umask(0o077)
	return func() { syscall.Umask(mask) }
}
