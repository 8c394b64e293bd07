package main

import "errors"

// serveCmd runs the server.
type serveCmd struct{}

// Run refuses: the server is wired elsewhere.
func (c *serveCmd) Run(e *env) error {
	return errors.New("serve: not wired yet")
}
