//go:build race

package flight

// underRace tells whether the race detector is on. It slows down tenfold what tests do alone, of which it has nothing to say, and it
// shows what there is to show of goroutines in fewer rounds: such tests are then shorter.
const underRace = true
