package world

import (
	"encoding/json"
	"fmt"
	"maps"
)

// exported is the JSON form of a world's state.
type exported struct {
	Partitions []*Partition
	AccessKeys map[string]string `json:",omitempty"`
	Roles      map[string]Role   `json:",omitempty"`
}

// Export returns the whole state as JSON. The same state gives the same
// bytes.
func (w *World) Export() ([]byte, error) {
	out, err := json.Marshal(exported{Partitions: w.Partitions(), AccessKeys: w.accessKeys, Roles: w.roles})
	if err != nil {
		return nil, fmt.Errorf("export the state: %w", err)
	}
	return out, nil
}

// Restore replaces the state by an exported one. Clock, configuration and
// random source stay as they are.
func (w *World) Restore(state []byte) error {
	var in exported
	if err := json.Unmarshal(state, &in); err != nil {
		return fmt.Errorf("restore the state: %w", err)
	}
	w.partitions = map[partitionKey]*Partition{}
	for _, p := range in.Partitions {
		p.init(w)
		w.partitions[partitionKey{p.Account, p.Region}] = p
	}
	w.accessKeys, w.roles = map[string]string{}, map[string]Role{}
	maps.Copy(w.accessKeys, in.AccessKeys)
	maps.Copy(w.roles, in.Roles)
	return nil
}
