// Package recount is the oracle of the tests that speak of Kubernetes: it counts
// a cluster by a fresh LIST of whole objects, one after the other, with nothing
// of countd's own machinery.
package recount

import (
	"context"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/summary"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/countd/countd/pkg/counts"
)

// List lists each resource and counts it, with the rights that config has. States
// are wrangler's.
func List(ctx context.Context, config *rest.Config, resources []counts.Resource) (map[string]counts.ItemCount, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	out := make(map[string]counts.ItemCount, len(resources))
	for _, r := range resources {
		list, err := client.Resource(schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name}).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", r.Key(), err)
		}
		out[r.Key()] = Count(list.Items)
	}
	return out, nil
}

// Count counts objects of one resource.
func Count(objects []unstructured.Unstructured) counts.ItemCount {
	var item counts.ItemCount
	for i := range objects {
		s := summary.Summarize(&objects[i])
		item.Summary = add(item.Summary, s)
		namespace := objects[i].GetNamespace()
		if namespace == "" {
			continue
		}
		if item.Namespaces == nil {
			item.Namespaces = make(map[string]counts.Summary)
		}
		item.Namespaces[namespace] = add(item.Namespaces[namespace], s)
	}
	return item
}

func add(to counts.Summary, s summary.Summary) counts.Summary {
	to.Count++
	if s.Error {
		to.Errors++
	}
	if s.Transitioning {
		to.Transitioning++
	}
	if s.State != "active" {
		if to.States == nil {
			to.States = make(map[string]int)
		}
		to.States[s.State]++
	}
	return to
}
