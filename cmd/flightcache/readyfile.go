package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/flightcache/flightcache/flight"
)

// readiness is the content of the ready file.
type readiness struct {
	PID    int      `json:"pid"`
	Listen []string `json:"listen"`
	HTTP   string   `json:"http"` // "" if it is off
}

func writeReadyFile(path string, listeners []*flight.Listener, web string) error {
	r := readiness{PID: os.Getpid(), HTTP: web}
	for _, l := range listeners {
		r.Listen = append(r.Listen, l.Name)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	beside := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(beside, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("--ready-file: %w", err)
	}
	if err := os.Rename(beside, path); err != nil {
		os.Remove(beside)
		return fmt.Errorf("--ready-file: %w", err)
	}
	return nil
}
