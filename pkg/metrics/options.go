package metrics

import (
	"errors"

	"github.com/countd/countd/pkg/counts"
)

// Options are the settings of a Collector. Counter and Status are needed.
type Options struct {
	// Counter is what is shown.
	Counter *counts.Counter
	// Status says of each resource how far it has come. It is called at each
	// scrape, from any goroutine, and must not block.
	Status func() []counts.Status
	// Namespaces splits the objects of namespaced resources by namespace. It
	// costs a series for each namespace, resource and state in use: 50,000 take
	// a tenth of a second and 32 MB a scrape. Default: false.
	Namespaces bool
	// Version is countd's own, for countd_build_info. Default: "unknown".
	Version string
}

// Validate names all that is missing.
func (o Options) Validate() error {
	var problems []error
	if o.Counter == nil {
		problems = append(problems, errors.New("metrics: Options.Counter is missing"))
	}
	if o.Status == nil {
		problems = append(problems, errors.New("metrics: Options.Status is missing"))
	}
	return errors.Join(problems...)
}
