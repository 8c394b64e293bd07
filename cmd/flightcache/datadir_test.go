package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDataDir(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(t *testing.T, path string)
		want string // part of the error; "": there is none
	}{
		{"absent", func(t *testing.T, path string) { os.Remove(path) }, ""},
		{"empty", func(*testing.T, string) {}, ""},
		{"of a first start that was cut off", func(t *testing.T, path string) {
			write(t, "", path, lockFile)
			write(t, "flight", path, formatFile+".tmp")
		}, ""},
		{"of a start that was cut off before there was a catalogue", func(t *testing.T, path string) {
			write(t, formatPrefix+"1\n", path, formatFile)
		}, ""},
		{"a file system's own", func(t *testing.T, path string) { os.Mkdir(filepath.Join(path, "lost+found"), 0o700) }, ""},
		{"in use before", func(t *testing.T, path string) {
			d, err := openDataDir(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, "", d.catalog())
			write(t, "", d.segments(), "a.arrow")
			d.close()
		}, ""},
		{"somebody else's", func(t *testing.T, path string) { write(t, "", path, "notes.txt") }, "there is notes.txt, but no file FORMAT"},
		{"of a later version", func(t *testing.T, path string) { write(t, formatPrefix+"2\n", path, formatFile) }, "version 1 only"},
		{"of no version", func(t *testing.T, path string) { write(t, strings.Repeat("x", 9999), path, formatFile) }, `says "xxx`},
		{"without its catalogue", func(t *testing.T, path string) {
			write(t, formatPrefix+"1\n", path, formatFile)
			os.Mkdir(filepath.Join(path, segmentsFolder), 0o700)
			write(t, "", path, segmentsFolder, "a.arrow")
		}, "catalog.db is missing"},
		{"a file", func(t *testing.T, path string) {
			os.Remove(path)
			write(t, "", path)
		}, "not a directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			tc.make(t, path)
			for range 2 { // what is refused is refused again, and what is taken can be taken again
				d, err := openDataDir(path)
				if tc.want != "" {
					if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "--data-dir "+path) || len(err.Error()) > 500 {
						t.Fatalf("the error is %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := openDataDir(path); err == nil || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())+" uses it") {
					t.Errorf("opened twice: %v", err)
				}
				if err := d.close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
