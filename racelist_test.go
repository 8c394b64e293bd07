package flightcache_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// concurrent tells what in a file the race detector could have something to say of.
func concurrent(f *ast.File) (found []string) {
	for _, i := range f.Imports {
		if i.Path.Value == `"sync/atomic"` {
			found = append(found, "sync/atomic")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, "a go statement")
		case *ast.ChanType:
			found = append(found, "a channel")
		case *ast.SelectorExpr:
			of, _ := n.X.(*ast.Ident)
			switch {
			case of != nil && of.Name == "sync" && n.Sel.Name != "OnceValue":
				found = append(found, "sync."+n.Sel.Name)
			case n.Sel.Name == "Go" || n.Sel.Name == "Parallel" || n.Sel.Name == "AfterFunc" || n.Sel.Name == "RunParallel":
				found = append(found, "a call of "+n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// unchecked tells what in a file has pointers that only a build with the race detector checks.
func unchecked(f *ast.File) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, _ := s.X.(*ast.Ident); of != nil && of.Name == "unsafe" && !slices.Contains([]string{"Sizeof", "Alignof", "Offsetof"}, s.Sel.Name) {
				found = append(found, "unsafe."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}

// parsed is the files of a folder, with its tests or without.
func parsed(t *testing.T, folder string, tests bool) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if !tests && strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// The packages that `make race` leaves out have nothing that it could find: no goroutine, nothing that goroutines share, and no
// pointer arithmetic, in them and in their tests; and no goroutine in what they use of ours.
func TestRaceLeavesOutNothing(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(makefile), "\nSEQUENTIAL := ")
	list, _, _ = strings.Cut(list, "\n")
	if list == "" {
		t.Fatal("the Makefile does not say which packages `race` leaves out")
	}
	for _, name := range strings.Fields(list) {
		if len(parsed(t, name, true)) == len(parsed(t, name, false)) {
			t.Errorf("%s has no tests", name)
		}
		for _, f := range parsed(t, name, true) {
			for _, what := range unchecked(f) {
				t.Errorf("%s has %s: `make race` may not leave it out", name, what)
			}
		}
		seen := map[string]bool{}
		var look func(folder string, tests bool)
		look = func(folder string, tests bool) {
			if seen[folder] {
				return
			}
			seen[folder] = true
			for _, f := range parsed(t, folder, tests) {
				for _, what := range concurrent(f) {
					t.Errorf("%s has %s in %s: `make race` may not leave it out", name, what, folder)
				}
				for _, i := range f.Imports {
					path, err := strconv.Unquote(i.Path.Value)
					if err != nil {
						t.Fatal(err)
					}
					if to, ours := own(path); ours {
						look(to, false)
					}
				}
			}
		}
		look(name, true)
	}
}

func TestConcurrentAndUncheckedAreFound(t *testing.T) {
	for _, tc := range []struct{ code, concurrent, unchecked string }{
		{"go f()", "[a go statement]", "[]"},
		{"var c chan int", "[a channel]", "[]"},
		{"var mu sync.Mutex", "[sync.Mutex]", "[]"},
		{"sync.OnceValue(f)", "[]", "[]"},
		{"group.Go(f)", "[a call of Go]", "[]"},
		{"t.Parallel()", "[a call of Parallel]", "[]"},
		{"time.AfterFunc(0, f)", "[a call of AfterFunc]", "[]"},
		{"b.RunParallel(f)", "[a call of RunParallel]", "[]"},
		{"p = unsafe.Add(p, 1)", "[]", "[unsafe.Add]"},
		{"n = unsafe.Sizeof(p)", "[]", "[]"},
		{"good(1)", "[]", "[]"},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc g() {\n"+tc.code+"\n}\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(concurrent(f)); got != tc.concurrent {
			t.Errorf("%s: %s, want %s", tc.code, got, tc.concurrent)
		}
		if got := fmt.Sprint(unchecked(f)); got != tc.unchecked {
			t.Errorf("%s: pointers %s, want %s", tc.code, got, tc.unchecked)
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nimport \"sync/atomic\"\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(concurrent(f)); got != "[sync/atomic]" {
		t.Errorf("an import of sync/atomic: %s", got)
	}
}
