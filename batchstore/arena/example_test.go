package arena_test

import (
	"fmt"

	"github.com/flightcache/flightcache/batchstore/arena"
)

// A body is encoded into a block that is large enough for it, and the rest of the block is given back.
func Example() {
	a, err := arena.New(arena.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	block, err := a.Alloc(1 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	n := copy(block.B, "an encoded body")
	block.Shrink(n)
	fmt.Printf("%s: %d bytes, in the arena: %t\n", block.B, len(block.B), a.Contains(block.B))

	fmt.Println(a.Close() != nil)
	block.Free()
	fmt.Println(a.Close())
	// Output:
	// an encoded body: 15 bytes, in the arena: true
	// true
	// <nil>
}
