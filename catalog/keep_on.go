//go:build !nofacts

package catalog

// keepingFacts says that the JSON of a generation's facts is made once. A build with the tag nofacts makes it for each call: only
// to weigh what keeping it gains.
const keepingFacts = true
