package harness

import (
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// parsedDocuments caches the parsed objects by their YAML text. Tests often apply the same texts, and an apply spends
// most of its time on YAML parsing.
var parsedDocuments sync.Map

// parseDocuments returns the objects of a YAML text. All harnesses share these objects, so callers must not change
// them.
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
