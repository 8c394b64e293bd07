//go:build race

package arrowipc

// underRace tells whether the race detector is on. It has small strings allocated one by one.
const underRace = true
