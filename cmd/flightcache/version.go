package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
)

// versionCmd shows what this program is.
type versionCmd struct {
	Output string `help:"How to print the result: table or json." enum:"table,json" default:"table"`
}

// versions are the facts that version shows. Commit is empty in a build outside a repository.
type versions struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Arrow    string `json:"arrow_go"`
	Platform string `json:"platform"`
}

const arrowModule = "github.com/apache/arrow-go/v18"

// Run prints the versions.
func (c *versionCmd) Run(e *env) error {
	text, err := json.Marshal(readVersions())
	if err != nil {
		return err
	}
	if c.Output == "json" {
		return writeJSON(e.stdout, text)
	}
	facts, err := parseFacts(text)
	if err != nil {
		return err
	}
	return writeFacts(e.stdout, facts)
}

// readVersions asks the build information that the Go tool put into this binary.
func readVersions() versions {
	v := versions{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, dep := range info.Deps {
		if dep.Path != arrowModule {
			continue
		}
		v.Arrow = dep.Version
		if dep.Replace != nil {
			v.Arrow = dep.Replace.Version
		}
	}
	return v
}

// programVersion is the version that goes into the user agent.
func programVersion() string { return readVersions().Version }
