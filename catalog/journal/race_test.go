//go:build race

package journal

// underRace tells whether the race detector is on. What one goroutine does alone it slows down tenfold and has nothing to
// say of: such tests are then shorter.
const underRace = true
