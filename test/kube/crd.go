package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// awaitInterval is the pause between two questions to discovery.
const awaitInterval = 50 * time.Millisecond

// NewCRD describes a custom resource with one version, any fields and a status
// subresource. The caller owns it and may change it before CreateCRD.
func NewCRD(resource schema.GroupVersionResource, kind string, namespaced bool) *unstructured.Unstructured {
	scope := "Cluster"
	if namespaced {
		scope = "Namespaced"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": resource.GroupResource().String()},
		"spec": map[string]any{
			"group": resource.Group,
			"scope": scope,
			"names": map[string]any{"plural": resource.Resource, "singular": strings.ToLower(kind), "kind": kind},
			"versions": []any{map[string]any{
				"name":         resource.Version,
				"served":       true,
				"storage":      true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type":                                 "object",
					"x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
}

// CreateCRD returns when every served version of the custom resource can be
// listed and discovery names it.
func (c *Cluster) CreateCRD(ctx context.Context, crd *unstructured.Unstructured) error {
	return CreateCRD(ctx, c.AdminConfig(), crd)
}

// CreateCRD is Cluster.CreateCRD for any cluster.
func CreateCRD(ctx context.Context, config *rest.Config, crd *unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	if _, err := definitions.Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the custom resource %s: %w", crd.GetName(), err)
	}
	for _, resource := range servedResources(crd) {
		err := await(ctx, config, resource.String()+" to be served", func(ctx context.Context, client kubernetes.Interface) error {
			return served(ctx, client.Discovery(), resource)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// servedResources are those of the versions that a CRD serves.
func servedResources(crd *unstructured.Unstructured) []schema.GroupVersionResource {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var resources []schema.GroupVersionResource
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if served, _ := version["served"].(bool); !served {
			continue
		}
		name, _ := version["name"].(string)
		resources = append(resources, schema.GroupVersionResource{Group: group, Version: name, Resource: plural})
	}
	return resources
}

// served asks for a list, and then the aggregated discovery document, which lags
// behind.
func served(ctx context.Context, client discovery.DiscoveryInterface, resource schema.GroupVersionResource) error {
	path := "/apis/" + resource.GroupVersion().String() + "/" + resource.Resource
	if err := client.RESTClient().Get().AbsPath(path).Param("limit", "1").Do(ctx).Error(); err != nil {
		return err
	}
	// Its error may be about other groups.
	_, lists, err := client.ServerGroupsAndResources()
	for _, list := range lists {
		if list.GroupVersion != resource.GroupVersion().String() {
			continue
		}
		for i := range list.APIResources {
			if list.APIResources[i].Name == resource.Resource {
				return nil
			}
		}
	}
	return errors.Join(errors.New("discovery does not name it"), err)
}

// await asks until there is no error: discovery has no events. The deadline is
// the caller's, and its error quotes the last answer.
func await(ctx context.Context, config *rest.Config, what string, ask func(context.Context, kubernetes.Interface) error) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, awaitInterval, true, func(ctx context.Context) (bool, error) {
		last = ask(ctx, client)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w; last answer: %w", what, err, last)
	}
	return nil
}
