package api

import (
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// servePage serves the static page, and answers whatever nothing else serves.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	if !s.onPage(strings.Trim(path.Clean(r.URL.Path), "/")) {
		s.refuse(w, notFound(r))
		return
	}
	http.FileServerFS(s.options.Page).ServeHTTP(w, r)
}

// onPage says whether the page has a file for a path. A directory is one only
// with an index: what else is in it is not listed.
func (s *Server) onPage(name string) bool {
	if s.options.Page == nil {
		return false
	}
	if name == "" {
		name = "."
	}
	info, err := fs.Stat(s.options.Page, name)
	if err == nil && info.IsDir() {
		info, err = fs.Stat(s.options.Page, path.Join(name, "index.html"))
	}
	return err == nil && info.Mode().IsRegular()
}
