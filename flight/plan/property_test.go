package plan

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flightcache/flightcache/arrowipc"
	"github.com/flightcache/flightcache/catalog"
	"github.com/flightcache/flightcache/descriptors"
)

// drawField draws a field with unique names below it, some of which have dots in them.
func drawField(t *rapid.T, next *int, depth int) *arrowipc.Field {
	*next++
	name := fmt.Sprintf(rapid.SampledFrom([]string{"f%d", "f.%d", "%d"}).Draw(t, "name"), *next)
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	switch {
	case depth < 4 && kind >= 2:
		children := make([]*arrowipc.Field, rapid.IntRange(0, 4).Draw(t, "children"))
		for i := range children {
			children[i] = drawField(t, next, depth+1)
		}
		return structOf(name, children...)
	case depth < 4 && kind == 1:
		return listOf(name, drawField(t, next, depth+1))
	}
	return number(name)
}

// target is a field that a command can choose, as a model has it: the way to it and the field nodes of its tree.
type target struct {
	path        []int
	name        string
	above       []int // nodes of the structs on the way to it
	first, last int   // nodes of its own, last excluded
}

// targets lists all fields that can be chosen, counting nodes in preorder as it goes; visible is false below lists.
func targets(fields []*arrowipc.Field, up target, node *int, visible bool) (out []target) {
	for i, f := range fields {
		me := target{path: append(slices.Clone(up.path), i), name: f.Name, above: up.above, first: *node}
		if len(up.path) > 0 {
			me.name = up.name + "." + f.Name
		}
		*node++
		below := me
		below.above = append(slices.Clone(me.above), me.first)
		children := targets(f.Children, below, node, visible && f.Type.ID == arrowipc.TypeStruct)
		me.last = *node
		if visible {
			out = append(append(out, me), children...)
		}
	}
	return out
}

// nodesOf says which nodes a list of chosen fields sends, by the rules in words: under each root those of every chosen
// tree and of the structs above it, once; a root that was chosen as a whole, as often as it was.
func nodesOf(chosen []target) (nodes []int) {
	wholes, parts := map[int]int{}, map[int]map[int]bool{}
	tree := map[int]target{}
	for _, c := range chosen {
		root := c.path[0]
		if len(c.path) == 1 {
			wholes[root]++
			tree[root] = c
			continue
		}
		if parts[root] == nil {
			parts[root] = map[int]bool{}
		}
		for _, n := range c.above {
			parts[root][n] = true
		}
		for n := c.first; n < c.last; n++ {
			parts[root][n] = true
		}
	}
	for root, times := range wholes {
		delete(parts, root)
		for range times {
			for n := tree[root].first; n < tree[root].last; n++ {
				nodes = append(nodes, n)
			}
		}
	}
	for _, part := range parts {
		for n := range part {
			nodes = append(nodes, n)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// Whatever the schema, the batches and the command: the plan's bytes are the sum over the batches of the nodes that the
// rules choose, its spans are those nodes, and the answer's schema has them in the asked order. (rapid prints the seed.)
func TestPlanEqualsSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fields []*arrowipc.Field
		next := 0
		for range rapid.IntRange(0, 5).Draw(t, "columns") {
			fields = append(fields, drawField(t, &next, 0))
		}
		schema, err := arrowipc.BuildSchema(fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		all := targets(fields, target{}, &count, true)
		if count != schema.Layout.Node1 {
			t.Fatalf("%d nodes, the layout has %d", count, schema.Layout.Node1)
		}
		batches := make([]*countedBatch, rapid.IntRange(0, 4).Draw(t, "batches"))
		for i := range batches {
			batches[i] = &countedBatch{rows: rapid.Int64Range(1, 1<<30).Draw(t, "rows")}
			for range count {
				batches[i].nodes = append(batches[i].nodes, catalog.NodeFacts{Decoded: rapid.Int64Range(0, 1<<50).Draw(t, "bytes")})
			}
		}
		command := &descriptors.ReadCommand{Columns: []descriptors.Column{}}
		var chosen []target
		if len(all) > 0 {
			chosen = rapid.SliceOfN(rapid.SampledFrom(all), 0, 12).Draw(t, "chosen")
		}
		for _, c := range chosen {
			column := descriptors.Column{Name: c.name}
			if len(c.path) == 1 && rapid.Bool().Draw(t, "by ordinal") {
				column = descriptors.Column{Ordinal: c.path[0], IsOrdinal: true}
			}
			command.Columns = append(command.Columns, column)
		}
		if rapid.Bool().Draw(t, "limited") {
			limit := rapid.Int64Range(0, 1<<32).Draw(t, "limit")
			command.Limit = &limit
		}

		r, err := New(generation(t, schema, batches...), command, Client{})
		if err != nil {
			t.Fatal(err)
		}
		nodes := nodesOf(chosen)
		var rows, bytes int64
		for _, b := range batches {
			rows += b.rows
			for _, n := range nodes {
				bytes += b.nodes[n].Decoded
			}
		}
		if command.Limit != nil && *command.Limit < rows {
			share := new(big.Int).Mul(big.NewInt(bytes), big.NewInt(*command.Limit))
			bytes, rows = share.Div(share, big.NewInt(rows)).Int64(), *command.Limit
		}
		if r.Rows != rows || r.Decoded != bytes {
			t.Fatalf("%d rows and %d bytes, want %d and %d", r.Rows, r.Decoded, rows, bytes)
		}
		var spans []int
		for _, s := range r.Projection.Spans {
			for n := s.Node0; n < s.Node1; n++ {
				spans = append(spans, n)
			}
		}
		if slices.Sort(spans); !slices.Equal(spans, nodes) {
			t.Fatalf("spans of nodes %v, want %v", spans, nodes)
		}
		if got, want := leaves(r.Projection.Schema.Fields), leaves(expected(fields, chosen)); got != want {
			t.Fatalf("schema\n%s\nwant\n%s", got, want)
		}
	})
}

// expected is the answer's fields, found by asking of each field again and again which paths lead through it.
func expected(fields []*arrowipc.Field, chosen []target) (out []*arrowipc.Field) {
	paths := make([][]int, len(chosen))
	for i, c := range chosen {
		paths[i] = c.path
	}
	seen, wholes := map[int]bool{}, map[int]int{}
	for _, p := range paths {
		root, f := p[0], fields[p[0]]
		if len(p) == 1 {
			wholes[root]++
		}
		through := slices.DeleteFunc(slices.Clone(paths), func(q []int) bool { return q[0] != root })
		switch whole := slices.ContainsFunc(through, func(q []int) bool { return len(q) == 1 }); {
		case !seen[root] && whole:
			out = append(out, f)
		case !seen[root]:
			out = append(out, without(f, through))
		case len(p) == 1 && wholes[root] > 1: // the first stands where the root was mentioned first
			out = append(out, f)
		}
		seen[root] = true
	}
	return out
}

// without is a struct with only the children that paths lead to, in the order of their first mention.
func without(f *arrowipc.Field, paths [][]int) *arrowipc.Field {
	cut := *f
	cut.Children = nil
	seen := map[int]bool{}
	for _, p := range paths {
		if seen[p[1]] {
			continue
		}
		seen[p[1]] = true
		var through [][]int
		for _, q := range paths {
			if q[1] == p[1] {
				through = append(through, q[1:])
			}
		}
		child := f.Children[p[1]]
		if !slices.ContainsFunc(through, func(q []int) bool { return len(q) == 1 }) {
			child = without(child, through)
		}
		cut.Children = append(cut.Children, child)
	}
	return &cut
}

// leaves writes a tree of fields by names.
func leaves(fields []*arrowipc.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = fmt.Sprintf("%q", f.Name)
		if len(f.Children) > 0 {
			parts[i] += "(" + leaves(f.Children) + ")"
		}
	}
	return strings.Join(parts, " ")
}
