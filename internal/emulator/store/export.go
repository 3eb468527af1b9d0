package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// exportedState is the JSON form of the emulator state.
type exportedState struct {
	Partitions []*Partition
	AccessKeys map[string]string `json:",omitempty"`
	Roles      map[string]Role   `json:",omitempty"`
	// Principals maps access key IDs to their principals.
	Principals map[string]Principal `json:",omitempty"`
	// Linked has the service-linked roles of accounts. A key is an account and a service, see AddServiceLinkedRole.
	Linked map[string]bool `json:",omitempty"`
	// Identifiers is the state of the random source of identifiers. Restore needs it, so that new identifiers differ from
	// those in the state.
	Identifiers []byte
}

// Export returns the state as JSON, without the secrets of access keys. The JSON of equal states is equal.
func (w *Store) Export() ([]byte, error) {
	stream, err := w.idSource.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("export the stream of identifiers: %w", err)
	}
	out, err := json.Marshal(exportedState{Partitions: w.Partitions(), AccessKeys: w.accountByAccessKey, Roles: w.roles,
		Principals: w.principals, Linked: w.serviceLinkedRoles, Identifiers: stream})
	if err != nil {
		return nil, fmt.Errorf("export the state: %w", err)
	}
	return out, nil
}

// Restore replaces the state with an exported state. It does not change the clock, the configuration or the secrets of
// access keys. If it returns an error, the resources have not changed.
func (w *Store) Restore(state []byte) error {
	var in exportedState
	if err := json.Unmarshal(state, &in); err != nil {
		return fmt.Errorf("restore the state: %w", err)
	}
	if slices.Contains(in.Partitions, nil) {
		return errors.New("restore the state: a partition is null")
	}
	if len(in.Identifiers) > 0 {
		if err := w.idSource.UnmarshalBinary(in.Identifiers); err != nil {
			return fmt.Errorf("restore the stream of identifiers: %w", err)
		}
	}
	w.partitions = map[partitionKey]*Partition{}
	for _, p := range in.Partitions {
		p.init(w)
		w.partitions[partitionKey{p.Account, p.Region}] = p
	}
	w.accountByAccessKey, w.roles = map[string]string{}, map[string]Role{}
	w.principals, w.serviceLinkedRoles = map[string]Principal{}, map[string]bool{}
	maps.Copy(w.principals, in.Principals)
	maps.Copy(w.serviceLinkedRoles, in.Linked)
	maps.Copy(w.accountByAccessKey, in.AccessKeys)
	maps.Copy(w.roles, in.Roles)
	return nil
}
