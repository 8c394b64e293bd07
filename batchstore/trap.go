//go:build payloadtrap

package batchstore

// Trap makes every stored payload unreadable for good. It exists in test builds only.
func (s *Store) Trap() error { return s.arena.Trap() }
