package flightcache_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sections are the headings that a library package's documentation has. What a package is for may also be said by its
// first paragraph alone.
var sections = []string{"# Invariants", "# Concurrency", "# What it is not"}

// undocumented tells what a package's files, by name, leave unsaid: the package itself, in doc.go, and every exported
// name. Only a library needs the sections.
func undocumented(name string, library bool, files map[string]*ast.File) (found []string) {
	doc := files["doc.go"]
	if doc == nil || doc.Doc.Text() == "" {
		return []string{"it has no doc.go with a package comment"}
	}
	text, first := doc.Doc.Text(), "Package "+name+" "
	if name == "main" {
		first = "Command "
	}
	if !strings.HasPrefix(text, first) {
		found = append(found, fmt.Sprintf("its documentation does not begin with %q", first))
	}
	for _, s := range sections {
		if library && !strings.Contains(text, "\n"+s+"\n") {
			found = append(found, fmt.Sprintf("its documentation has no section %q", s))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if file != "doc.go" && files[file].Doc.Text() != "" {
			found = append(found, file+" has a package comment too")
		}
		for _, d := range files[file].Decls {
			for _, name := range unsaid(d) {
				found = append(found, fmt.Sprintf("%s: %s has no comment", file, name))
			}
		}
	}
	return found
}

// unsaid gives the exported names of a declaration that have no comment of their own, nor share that of their group.
func unsaid(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc.Text() == "" && ofExported(d.Recv) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc.Text() == "" && s.Doc.Text() == "" {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" && !speaksOf(d, n.Name) {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// speaksOf reports whether a group of constants or variables has a comment for all, or one that names this one.
func speaksOf(group *ast.GenDecl, name string) bool {
	return group.Doc.Text() != "" || slices.ContainsFunc(group.Specs, func(s ast.Spec) bool {
		return strings.Contains(s.(*ast.ValueSpec).Doc.Text(), name)
	})
}

// ofExported reports whether a receiver's type is exported, or there is none.
func ofExported(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	t := receiver.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.IndexListExpr:
			t = u.X
		case *ast.Ident:
			return u.IsExported()
		default:
			return true
		}
	}
}

func parse(t *testing.T, name string, source any) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDocumentation(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,Name,GoFiles,IgnoredGoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := 0
	for d := json.NewDecoder(bytes.NewReader(out)); ; packages++ {
		var p struct {
			Dir, ImportPath, Name   string
			GoFiles, IgnoredGoFiles []string
		}
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]*ast.File{}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			if !strings.HasSuffix(name, "_test.go") {
				files[name] = parse(t, filepath.Join(p.Dir, name), nil)
			}
		}
		path, _ := own(p.ImportPath)
		library := p.Name != "main" && path != "integration" // which is tests only
		for _, f := range undocumented(p.Name, library, files) {
			t.Errorf("%s: %s", path, f)
		}
	}
	if packages < len(arrows) {
		t.Errorf("%d packages were looked at, there are at least %d", packages, len(arrows))
	}
}

// What is missing is found.
func TestPlantedGapsInDocumentation(t *testing.T) {
	const good = "// Package p is for tests.\n//\n// # Invariants\n//\n// None.\n//\n// # Concurrency\n//\n// None.\n//\n// # What it is not\n//\n// Much.\npackage p\n"
	for _, tc := range []struct {
		name, doc, code string
		want            []string // parts of what is found, in order
	}{
		{"all there", good, "package p\n// F does.\nfunc F() {}\n// T is.\ntype T int\n// M does.\nfunc (T) M() {}\n// Some.\nconst (\nA = 1\nB = 2\n)\nvar (\nV = 1 // one\n)", nil},
		{"nothing exported", good, "package p\nfunc f() {}\ntype t int\nfunc (t) M() {}\nvar v int", nil},
		{"no comment", "package p\n", "package p\n", []string{"no doc.go"}},
		{"another beginning", strings.Replace(good, "Package p is", "This is", 1), "package p\n", []string{"begin"}},
		{"no invariants", strings.Replace(good, "# Inv", "Inv", 1), "package p\n", []string{`"# Invariants"`}},
		{"no concurrency", strings.Replace(good, "# Conc", "Conc", 1), "package p\n", []string{`"# Concurrency"`}},
		{"not what it is not", strings.Replace(good, "# What", "What", 1), "package p\n", []string{`"# What it is not"`}},
		{"two package comments", good, "// Package p again.\npackage p\n", []string{"p.go has a package comment"}},
		{"func", good, "package p\nfunc F() {}", []string{"F has"}},
		{"type", good, "package p\ntype T int", []string{"T has"}},
		{"method", good, "package p\n// T is.\ntype T int\nfunc (*T) M() {}", []string{"M has"}},
		{"generic method", good, "package p\n// T is.\ntype T[E any] []E\nfunc (T[E]) M() {}", []string{"M has"}},
		{"const and var", good, "package p\nconst C = 1\nvar V, W = 1, 2", []string{"C has", "V has", "W has"}},
		{"one of two", good, "package p\nconst (\n// A is, and so is B.\nA = 1\nB = 2\nC = 3\n)", []string{"C has"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := undocumented("p", true, map[string]*ast.File{"doc.go": parse(t, "doc.go", tc.doc), "p.go": parse(t, "p.go", tc.code)})
			if len(found) != len(tc.want) {
				t.Fatalf("found %q, want %q", found, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(found[i], want) {
					t.Errorf("found %q, want %q", found[i], want)
				}
			}
		})
	}
	if found := undocumented("p", true, map[string]*ast.File{"p.go": parse(t, "p.go", good)}); len(found) != 1 {
		t.Errorf("a package comment outside doc.go: %q", found)
	}
	program := map[string]*ast.File{"doc.go": parse(t, "doc.go", "// Command p runs.\npackage main\n")}
	if found := undocumented("main", false, program); found != nil {
		t.Errorf("a program: %q", found)
	}
}
