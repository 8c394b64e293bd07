//go:build payloadtrap

package flight

// The action "trap" of test builds makes every payload unreadable, so that a test can show which calls never read one.
func init() {
	testActions["trap"] = func(s *Server) ([]byte, error) { return []byte(`{}`), s.store.Trap() }
}
