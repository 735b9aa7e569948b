// Package recount is the oracle of the tests that speak of Kubernetes: it counts
// a cluster by a fresh LIST of whole objects, one after the other, with nothing of
// countd's own machinery but what a state is. Steve's reading is asked of wrangler itself.
package recount

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/wrangler/v3/pkg/summary"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/internal/state"
	"github.com/countd/countd/pkg/counts"
)

// Count is what there is of one resource, in both readings.
type Count struct{ Own, Steve counts.ItemCount }

// List lists each resource and counts it, with the rights that config has. States
// are corrected ones.
func List(ctx context.Context, config *rest.Config, resources []counts.Resource) (map[string]Count, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Count, len(resources))
	for _, r := range resources {
		list, err := client.Resource(schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name}).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", r.Key(), err)
		}
		if out[r.Key()], err = Objects(list.Items, state.Corrected); err != nil {
			return nil, fmt.Errorf("counting %s: %w", r.Key(), err)
		}
	}
	return out, nil
}

// Objects counts objects of one resource.
func Objects(objects []unstructured.Unstructured, rules state.Rules) (c Count, err error) {
	for i := range objects {
		reading, err := rules.Read(objects[i].Object, time.Now())
		if err != nil {
			return Count{}, err
		}
		namespace := objects[i].GetNamespace()
		add(&c.Own, namespace, one(reading.State))
		s := summary.Summarize(&objects[i])
		steve := counts.State{Error: s.Error, Transitioning: s.Transitioning}
		switch {
		case s.Error:
			steve.Word = "error"
		case s.Transitioning:
			steve.Word = "in-progress"
		}
		add(&c.Steve, namespace, one(steve))
	}
	return c, nil
}

// one is the summary of one object.
func one(s counts.State) counts.Summary {
	n := counts.Summary{Count: 1}
	if s.Word != "" {
		n.States = map[string]int{s.Word: 1}
	}
	if s.Error {
		n.Errors = 1
	}
	if s.Transitioning {
		n.Transitioning = 1
	}
	return n
}

func add(to *counts.ItemCount, namespace string, s counts.Summary) {
	to.Summary = sum(to.Summary, s)
	if namespace == "" {
		return
	}
	if to.Namespaces == nil {
		to.Namespaces = make(map[string]counts.Summary)
	}
	to.Namespaces[namespace] = sum(to.Namespaces[namespace], s)
}

func sum(a, b counts.Summary) counts.Summary {
	a.Count += b.Count
	a.Errors += b.Errors
	a.Transitioning += b.Transitioning
	for word, n := range b.States {
		if a.States == nil {
			a.States = make(map[string]int)
		}
		a.States[word] += n
	}
	return a
}
