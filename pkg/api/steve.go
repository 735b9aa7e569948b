package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/countd/countd/pkg/counts"
)

// countType is the one type of steve's that is served, by its id.
const countType = "count"

// steveItem is counts.ItemCount with namespaces that are there even when there
// are none, as the dashboard wants of a kind that is gone.
type steveItem struct {
	Summary    counts.Summary            `json:"summary"`
	Namespaces map[string]counts.Summary `json:"namespaces,omitzero"`
}

// steveCount is counts.Count, with links where it is answered to a GET.
type steveCount struct {
	ID     string               `json:"id"`
	Type   string               `json:"type"`
	Links  map[string]string    `json:"links,omitempty"`
	Counts map[string]steveItem `json:"counts"`
}

func newSteveCount() steveCount {
	return steveCount{ID: countType, Type: countType, Counts: make(map[string]steveItem)}
}

// add sets the counts of a resource; those of one that is gone are empty, since
// the dashboard never forgets a kind.
func (s steveCount) add(c *counts.Counted) {
	var item steveItem
	if !c.Gone() {
		item = steveItem(c.SteveItemCount())
	}
	if item.Namespaces == nil && (c.Gone() || c.Resource().Namespaced) {
		item.Namespaces = map[string]counts.Summary{}
	}
	s.Counts[c.Resource().SchemaID()] = item
}

// collection is how steve answers with several things. It has no revision: the
// dashboard would send it back as the resourceVersion of its watch.
type collection[T any] struct {
	Type         string            `json:"type"`
	Links        map[string]string `json:"links"`
	ResourceType string            `json:"resourceType"`
	Data         []T               `json:"data"`
}

// schema tells the dashboard of a type and where to find it. Links are paths,
// which hold behind a proxy too.
type schema struct {
	ID                string            `json:"id"`
	Type              string            `json:"type"`
	Links             map[string]string `json:"links"`
	PluralName        string            `json:"pluralName"`
	ResourceMethods   []string          `json:"resourceMethods"`
	CollectionMethods []string          `json:"collectionMethods"`
	ResourceFields    struct{}          `json:"resourceFields"`
	Attributes        attributes        `json:"attributes"`
}

// attributes are those of a schema that stands for a Kubernetes resource.
type attributes struct {
	Group      string   `json:"group,omitempty"`
	Version    string   `json:"version,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Resource   string   `json:"resource,omitempty"`
	Namespaced bool     `json:"namespaced"`
	Verbs      []string `json:"verbs,omitempty"`
}

func newSchema(id, plural string, a attributes) schema {
	methods := []string{http.MethodGet}
	return schema{
		ID:                id,
		Type:              "schema",
		Links:             map[string]string{"self": "/v1/schemas/" + id, "collection": "/v1/" + plural},
		PluralName:        plural,
		ResourceMethods:   methods,
		CollectionMethods: methods,
		Attributes:        a,
	}
}

func resourceSchema(r counts.Resource) schema {
	plural := r.Name
	if r.Group != "" {
		plural = r.Group + "." + r.Name // steve's order, unlike Kubernetes'
	}
	return newSchema(r.SchemaID(), plural, attributes{
		Group: r.Group, Version: r.Version, Kind: r.Kind, Resource: r.Name, Namespaced: r.Namespaced,
		Verbs: []string{"list", "watch"},
	})
}

// schemas are those of the counts and of each counted kind.
func (s *Server) schemas() []schema {
	list := []schema{newSchema(countType, "counts", attributes{})}
	for c := range s.options.Counter.Snapshot().Resources() {
		list = append(list, resourceSchema(c.Resource()))
	}
	slices.SortFunc(list, func(a, b schema) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func (s *Server) serveSchemas(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, mustMarshal(collection[schema]{
		Type:         "collection",
		Links:        map[string]string{"self": "/v1/schemas"},
		ResourceType: "schema",
		Data:         s.schemas(),
	}))
}

func (s *Server) serveSchema(w http.ResponseWriter, r *http.Request) {
	for _, schema := range s.schemas() {
		if schema.ID == r.PathValue("id") {
			s.writeJSON(w, r, mustMarshal(schema))
			return
		}
	}
	s.refuse(w, notFound(r))
}

// steveCount is the newest count. It waits for nothing: a kind that is not
// counted yet is not in it.
func (s *Server) steveCount() steveCount {
	count := newSteveCount()
	count.Links = map[string]string{"self": "/v1/counts/count"}
	for c := range s.options.Counter.Snapshot().Resources() {
		count.add(c)
	}
	return count
}

// serveSteveCounts ignores its query, in which the dashboard asks for pages and
// fields that a count has not.
func (s *Server) serveSteveCounts(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, mustMarshal(collection[steveCount]{
		Type:         "collection",
		Links:        map[string]string{"self": "/v1/counts"},
		ResourceType: countType,
		Data:         []steveCount{s.steveCount()},
	}))
}

func (s *Server) serveSteveCount(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, mustMarshal(s.steveCount()))
}
