package store_test

import (
	"net/netip"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

func TestRestoredStateGivesNewIdentifiers(t *testing.T) {
	block := netip.MustParsePrefix("10.0.0.0/16")
	first := store.New(store.Options{Seed: 5})
	for range 3 {
		first.Partition("1", "us-west-2").CreateVPC(block)
	}
	state, err := first.Export()
	if err != nil {
		t.Fatal(err)
	}
	again := store.New(store.Options{Seed: 5})
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	p := again.Partition("1", "us-west-2")
	seen := map[string]bool{}
	for id := range p.VPCs {
		seen[id] = true
	}
	for range 10 {
		if id := p.CreateVPC(block).ID; seen[id] {
			t.Errorf("ID %s was used twice", id)
		}
	}
	if want := first.Partition("1", "us-west-2").CreateVPC(block).ID; p.VPCs[want] == nil {
		t.Error("the restored state creates other IDs than the exported state")
	}
}

func TestRestoreRejectsInvalidState(t *testing.T) {
	w := store.New(store.Options{})
	n := len(w.Partition("1", "us-west-2").VPCs)
	for _, state := range []string{"", "{", `{"Partitions": 1}`, `{"Identifiers": "AAAA"}`, `{"Partitions": [null]}`} {
		if err := w.Restore([]byte(state)); err == nil {
			t.Errorf("invalid state %q was restored", state)
		}
	}
	if got := len(w.Partition("1", "us-west-2").VPCs); got != n {
		t.Errorf("a rejected import changed the state: %d VPCs of %d", got, n)
	}
}
