package main

import (
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/flightcache/flightcache/flight"
)

// openAll reads all files that the options name, before anything else is done, so that all that is wrong with them is told at
// once. The listeners do not listen yet. The caller closes both.
func (c *serveCmd) openAll(log *zap.Logger) (*who, []*flight.Listener, error) {
	w, err := c.openAuth(log)
	listeners, tls := c.secureAll(log)
	if err := errors.Join(err, tls, c.checkFolder()); err != nil {
		closeAll(listeners)
		if w != nil {
			w.close()
		}
		return nil, nil, err
	}
	return w, listeners, nil
}

// secureAll makes a listener for each address, which has read the files of TLS if it has it. Those that could be made are
// given beside an error.
func (c *serveCmd) secureAll(log *zap.Logger) (out []*flight.Listener, err error) {
	var errs []error
	for _, uri := range c.Listen {
		a, err := parseListen(uri)
		l := &flight.Listener{}
		if err == nil && a.tls {
			if l.TLS, err = c.openTLS(a, log); err != nil {
				err = fmt.Errorf("--listen %s: %w", uri, err)
			}
		}
		out, errs = append(out, l), append(errs, err)
	}
	return out, errors.Join(errs...)
}

// checkFolder looks whether the folder to be loaded is there.
func (c *serveCmd) checkFolder() error {
	if c.Load == "" {
		return nil
	}
	info, err := os.Stat(c.Load)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return fmt.Errorf("--load %s: %w", c.Load, err)
	}
	return nil
}
