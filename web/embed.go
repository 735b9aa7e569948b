// Package web is countd's page: plain files, without a build step and without
// dependencies, that a browser loads as they are.
package web

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed static
var static embed.FS

// Files returns the page, index.html at its root.
func Files() fs.FS {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(fmt.Sprintf("web: %v", err)) // the folder is there or this does not compile
	}
	return files
}
