package harness

import (
	"sync"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// documents keeps the objects of texts that were applied, by text: a test applies the same ones in each of
// its worlds, and reading YAML costs more than all else that an apply does.
var documents sync.Map

// read returns the objects of YAML documents. All worlds share them, so they must not be changed.
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
