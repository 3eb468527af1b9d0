package harness

import (
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// parsedDocuments caches the parsed objects of YAML texts, because tests often apply the same texts and most of the time of
// an apply is YAML parsing.
var parsedDocuments sync.Map

// parseDocuments returns the objects of YAML documents. All harnesses share them, so they must not be changed.
func parseDocuments(doc string) ([]cluster.Object, error) {
	if objects, ok := parsedDocuments.Load(doc); ok {
		return objects.([]cluster.Object), nil
	}
	loaded, err := cluster.LoadYAML([]byte(doc))
	if err != nil {
		return nil, err
	}
	parsedDocuments.Store(doc, loaded.Objects)
	return loaded.Objects, nil
}
