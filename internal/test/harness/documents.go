package harness

import (
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// documents caches the parsed objects of YAML texts, because tests often apply the same texts and most of the time of
// an apply is YAML parsing.
var documents sync.Map

// read returns the objects of YAML documents. All harnesses share them, so they must not be changed.
func read(doc string) ([]cluster.Object, error) {
	if objects, ok := documents.Load(doc); ok {
		return objects.([]cluster.Object), nil
	}
	loaded, err := cluster.LoadYAML([]byte(doc))
	if err != nil {
		return nil, err
	}
	documents.Store(doc, loaded.Objects)
	return loaded.Objects, nil
}
