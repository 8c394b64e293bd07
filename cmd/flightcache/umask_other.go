//go:build !unix

package main

import "io/fs"

// umask is empty where there is none.
func umask() fs.FileMode { return 0 }
