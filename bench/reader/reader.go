package reader

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/countd/countd/bench/apiserver"
)

// Reader reads all objects of an API server. Its methods but Run are for one
// goroutine.
type Reader interface {
	// Run reads until ctx ends.
	Run(ctx context.Context) error
	// Listed says whether the first list is complete.
	Listed() bool
	// Holds says whether everything up to a moment has been read. Once it has,
	// the next moment that is asked for must be a later one.
	Holds(m apiserver.Moment) bool
	// Objects is how many there are in what the reader keeps, counted anew.
	Objects() int
}

// Names of the readers that read from an API server.
const (
	Countd            = "countd"
	Typed             = "typed"
	Metadata          = "metadata"
	Transform         = "transform"
	Reflector         = "reflector"
	ReflectorMetadata = "reflector-metadata"
)

// Names are those of all readers that New makes.
func Names() []string {
	return []string{Countd, Typed, Metadata, Transform, Reflector, ReflectorMetadata}
}

// New returns a reader, by its name, of all objects of a kind that the API server at
// a URL has.
func New(name, url, kind string) (Reader, error) {
	config := &rest.Config{Host: url, QPS: -1}
	switch name {
	case Countd:
		return newCountd(config)
	case Typed, Metadata, Transform:
		return newInformer(name, config, kind)
	case Reflector, ReflectorMetadata:
		return newReflector(name, config, kind)
	default:
		return nil, fmt.Errorf("reader %q: want one of %q", name, Names())
	}
}
