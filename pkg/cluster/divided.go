package cluster

import (
	"context"
	"fmt"

	"github.com/countd/countd/pkg/counts"
)

// mostParts is in how many namespaces a resource is read one by one where it may not
// be listed cluster-wide: each is a watch.
const mostParts = 200

// dividedFeed reads a namespaced resource cluster-wide, and where that is forbidden in
// the namespaces in which it is not.
type dividedFeed struct {
	resource counts.Resource
	parts    parts
	rights   *rights
}

func (d *dividedFeed) run(ctx context.Context) {
	for ctx.Err() == nil {
		whole := newWatchFeed(d.parts.reader, d.parts.source, d.parts.report, d.parts.turns)
		whole.refused = d.refused
		whole.run(ctx)
		if ctx.Err() != nil {
			return
		}
		d.parts.run(ctx, d.where)
		if ctx.Err() != nil {
			return // what is read in parts goes on so
		}
		d.parts.report.whole()
		d.parts.report.relisting(errRights)
	}
}

// refused says whether a resource that may not be read cluster-wide may be read in
// namespaces, and otherwise why not.
func (d *dividedFeed) refused(ctx context.Context, cause error) (elsewhere bool, why error) {
	d.rights.need()
	select {
	case <-ctx.Done():
		return false, cause
	case <-d.rights.known:
	}
	names, wide, _ := d.rights.where(d.resource)
	switch {
	case len(names) == 0 && !d.rights.namespacesListed():
		return false, fmt.Errorf("%w; namespaces may not be listed, so those in which it may be read have to be named", cause)
	case len(names) == 0:
		return false, cause
	case len(names) > mostParts:
		return false, fmt.Errorf("%w; it may be read in %d namespaces, and more than %d are not watched one by one unless they are named", cause, len(names), mostParts)
	}
	if wide {
		if may, err := d.rights.everywhere(ctx, d.resource); may || err != nil {
			return false, cause // it has passed, or will be asked again
		}
	}
	return true, nil
}

// where returns the namespaces to read, none as soon as all can be read at once.
func (d *dividedFeed) where(ctx context.Context) ([]string, <-chan struct{}) {
	names, wide, newer := d.rights.where(d.resource)
	if len(names) > mostParts {
		return nil, nil
	}
	if wide {
		if may, err := d.rights.everywhere(ctx, d.resource); err == nil && may {
			return nil, nil
		}
	}
	return names, newer
}
