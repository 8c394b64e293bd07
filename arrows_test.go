package flightcache_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module   = "github.com/flightcache/flightcache"
	grpcPath = "google.golang.org/grpc"
)

// importRule is what the packages that match may import.
type importRule struct {
	packages string   // a path below the module; with "/..." all that is below it too
	ours     []string // packages of ours
	grpc     bool     // gRPC, directly or through others
	tests    bool     // the rule holds for the imports of tests as well
}

// server is what the RPCs are made of.
var server = []string{
	"arrowipc", "batchstore", "batchstore/arena", "batchstore/segment", "catalog", "catalog/journal", "compress", "descriptors", "predicate", "predicate/substrait", "statistics",
}

// arrows are the rules of ARCHITECTURE.md. The first that matches a package counts.
var arrows = []importRule{
	{packages: "."},
	{packages: "arrowipc"},
	{packages: "compress"},
	{packages: "descriptors"},
	{packages: "statistics", ours: []string{"arrowipc"}},
	{packages: "predicate", ours: []string{"arrowipc", "statistics"}},
	{packages: "predicate/...", ours: []string{"arrowipc", "predicate", "statistics"}},
	{packages: "batchstore/arena"},
	{packages: "batchstore/segment", ours: []string{"arrowipc", "statistics"}},
	{packages: "batchstore", ours: []string{"arrowipc", "batchstore/arena", "batchstore/segment", "compress", "predicate", "statistics"}},
	{packages: "catalog/journal"},
	{packages: "catalog", ours: []string{"arrowipc", "statistics"}},
	{packages: "flight/plan",
		ours: []string{"arrowipc", "catalog", "descriptors", "predicate", "predicate/substrait", "statistics"}},
	{packages: "flight/arrowstats", ours: []string{"arrowipc", "statistics"}},
	{packages: "flight/gather"},
	{packages: "flight/intake"},
	{packages: "flight/reload"},
	{packages: "flight/identity", ours: []string{"flight/reload"}},
	{packages: "flight/limits", ours: []string{"descriptors"}},
	{packages: "flight/permissions", ours: []string{"descriptors", "flight/reload"}},
	{packages: "flight/secure", ours: []string{"flight/reload"}},
	{packages: "flight/secure/..."},
	{packages: "flight", grpc: true, ours: append([]string{"flight/plan", "flight/arrowstats", "flight/gather", "flight/intake", "flight/limits", "flight/secure", "flight/identity", "flight/permissions"}, server...)},
	{packages: "cmd/...", grpc: true, ours: append([]string{"flight", "flight/plan", "flight/limits", "flight/secure", "flight/identity", "flight/permissions"}, server...)},
	{packages: "integration/...", grpc: true, tests: true},
	{packages: "bench/...", grpc: true, tests: true},
}

func (r importRule) matches(path string) bool {
	if root, below := strings.CutSuffix(r.packages, "/..."); below {
		return path == root || strings.HasPrefix(path, root+"/")
	}
	return path == r.packages
}

// imports is what one package imports: itself, and with its tests.
type imports struct{ code, tests []string }

// graph is packages by their import path.
type graph map[string]imports

// own gives the path below the module of a package of ours.
func own(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func isGRPC(path string) bool { return path == grpcPath || strings.HasPrefix(path, grpcPath+"/") }

// reaches finds a way from a package to gRPC, nil if there is none.
func (g graph) reaches(from string, seen map[string]bool) []string {
	seen[from] = true
	for _, to := range g[from].code {
		if isGRPC(to) {
			return []string{to}
		}
		if !seen[to] {
			if way := g.reaches(to, seen); way != nil {
				return append([]string{to}, way...)
			}
		}
	}
	return nil
}

// broken tells of every arrow in the graph that the rules do not have, in order.
func (g graph) broken(rules []importRule) (found []string) {
	for _, path := range slices.Sorted(maps.Keys(g)) {
		name, ours := own(path)
		if !ours {
			continue
		}
		i := slices.IndexFunc(rules, func(r importRule) bool { return r.matches(name) })
		if i < 0 {
			found = append(found, fmt.Sprintf("%s: no rule says what it may import", name))
			continue
		}
		rule, list := rules[i], g[path].code
		if rule.tests {
			list = slices.Concat(list, g[path].tests)
		}
		for _, to := range list {
			if to, ours := own(to); ours && !slices.Contains(rule.ours, to) {
				found = append(found, fmt.Sprintf("%s imports %s; of ours it may import %q", name, to, rule.ours))
			}
		}
		if way := g.reaches(path, map[string]bool{}); way != nil && !rule.grpc {
			found = append(found, fmt.Sprintf("%s reaches gRPC: %s", name, strings.Join(way, " -> ")))
		}
	}
	return found
}

// readGraph asks the go command for the module's packages and all that they depend on.
func readGraph(t *testing.T) graph {
	t.Helper()
	var stderr bytes.Buffer
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	g := graph{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return g
		}
		if err != nil {
			t.Fatal(err)
		}
		g[p.ImportPath] = imports{code: p.Imports, tests: slices.Concat(p.TestImports, p.XTestImports)}
	}
}

func TestArrows(t *testing.T) {
	g := readGraph(t)
	for _, rule := range arrows {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(g)), func(path string) bool {
			name, ours := own(path)
			return ours && rule.matches(name)
		}) {
			t.Errorf("the rule for %s matches no package", rule.packages)
		}
	}
	if g.reaches(module+"/flight", map[string]bool{}) == nil {
		t.Error("flight does not reach gRPC: the graph is not what it should be")
	}
	for _, b := range g.broken(arrows) {
		t.Error(b)
	}
}

// Records that are handed out by Arrow's C data interface are easily never released. Nothing here does: whoever wants to, looks
// after that first.
func TestNoCDataInterface(t *testing.T) {
	const family = "github.com/apache/arrow-go/v18/arrow/"
	g := readGraph(t)
	if _, used := g[family+"flight"]; !used {
		t.Errorf("%sflight is not used: this test looks at the wrong packages", family)
	}
	if _, used := g[family+"cdata"]; used {
		t.Errorf("%scdata is used", family)
	}
}

// legal is a graph with one package for each rule, which imports all that it may.
func legal() graph {
	g := graph{"example.org/rpc": {code: []string{"fmt", grpcPath + "/codes"}}, "example.org/pure": {code: []string{"fmt"}}}
	for _, rule := range arrows {
		list := []string{"fmt", "example.org/pure"}
		for _, name := range rule.ours {
			list = append(list, module+"/"+name)
		}
		if rule.grpc {
			list = append(list, grpcPath, "example.org/rpc")
		}
		g[placed(rule)] = imports{code: list}
	}
	return g
}

// placed is the import path of a package that the rule is about.
func placed(rule importRule) string {
	if rule.packages == "." {
		return module
	}
	return module + "/" + strings.Replace(rule.packages, "...", "x", 1)
}

// plant is a legal graph with one more import.
func plant(from, to string, inTests bool) graph {
	g := legal()
	p := g[from]
	if inTests {
		p.tests = []string{to}
	} else {
		p.code = append(p.code, to)
	}
	g[from] = p
	return g
}

// Every arrow that no rule has is found, wherever it is planted, and none is found that is legal.
func TestPlantedArrows(t *testing.T) {
	if b := legal().broken(arrows); b != nil {
		t.Fatalf("in a legal graph: %q", b)
	}
	for _, rule := range arrows {
		from := placed(rule)
		name, _ := own(from)
		for _, other := range arrows {
			to := placed(other)
			short, _ := own(to)
			if slices.Contains(rule.ours, short) || to == from {
				continue
			}
			found := plant(from, to, false).broken(arrows)
			if len(found) == 0 || !slices.ContainsFunc(found, func(b string) bool {
				return strings.HasPrefix(b, name+" imports "+short+";")
			}) {
				t.Errorf("%s -> %s was found as %q", name, short, found)
			}
			found = plant(from, to, true).broken(arrows)
			if (len(found) > 0) != rule.tests {
				t.Errorf("%s -> %s in a test was found as %q", name, short, found)
			}
		}
		for _, to := range []string{grpcPath, grpcPath + "/codes", "example.org/rpc"} {
			found := plant(from, to, false).broken(arrows)
			if rule.grpc {
				if len(found) > 0 {
					t.Errorf("%s may use gRPC: %q", name, found)
				}
				continue
			}
			if !slices.ContainsFunc(found, func(b string) bool { return strings.HasPrefix(b, name+" reaches gRPC: "+to) }) {
				t.Errorf("%s -> %s was found as %q", name, to, found)
			}
		}
	}
	if found := plant(module+"/compress", grpcPath+"x", false).broken(arrows); found != nil {
		t.Errorf("a package whose path begins like gRPC's: %q", found)
	}
	g := legal()
	g[module+"/newcomer"] = imports{}
	if found := g.broken(arrows); len(found) != 1 || !strings.Contains(found[0], "newcomer: no rule") {
		t.Errorf("a package without a rule was found as %q", found)
	}
}
