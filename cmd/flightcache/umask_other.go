//go:build !unix

package main

import "io/fs"

// umask is empty where there is none.
func umask() fs.FileMode { return 0 }

// privateUmask does nothing where files have no mode.
func privateUmask() (restore func()) { return func() {} }
