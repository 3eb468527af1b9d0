package targets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestIdentitySetEqualsMap adds and removes identities at random, and checks that the set equals a map of canonical texts.
func TestIdentitySetEqualsMap(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		some := func() []*observed.Target {
			out := make([]*observed.Target, r.IntN(60))
			for i := range out {
				ids := []string{fmt.Sprintf("i-%x", r.IntN(300)), fmt.Sprintf("10.0.0.%d", r.IntN(200)), "fd00::1", "FD00:0::1", "fd00::1:2"}
				out[i] = &observed.Target{ID: ids[r.IntN(len(ids))], Port: int32(80 + r.IntN(2))}
				if r.IntN(8) == 0 {
					out[i].ServerID = []string{"0xAB", "0xab"}[r.IntN(2)]
				}
			}
			return out
		}
		var set *IdentitySet
		var last []*observed.Target
		want := map[string]bool{}
		key := func(t *observed.Target) string { return CanonicalIdentity(IdentityOf(t)) }
		for step := range 40 {
			list := some()
			switch r.IntN(4) {
			case 0:
				var endpoints []Endpoint
				for _, t := range list {
					endpoints = append(endpoints, Endpoint{ID: t.ID, Port: t.Port, ServerID: t.ServerID})
					want[key(t)] = true
				}
				set = set.WithEndpoints(endpoints)
			case 1:
				set = set.WithoutTargets(list)
				for _, t := range list {
					delete(want, key(t))
				}
			default:
				if r.IntN(2) == 0 { // most targets are the same as before
					from := r.IntN(len(last) + 1)
					to := min(len(last), from+r.IntN(3))
					list = slices.Concat(last[:from], list[:min(len(list), 3)], last[to:])
				}
				last = list
				for _, t := range list {
					want[key(t)] = true
				}
				set = set.WithTargets(list)
			}
			if set.Len() != len(want) {
				t.Fatalf("seed %d, step %d: %d identities, want %d", seed, step, set.Len(), len(want))
			}
			for _, x := range some() {
				if set.Has(x) != want[key(x)] {
					t.Fatalf("seed %d, step %d: %s: %v", seed, step, IdentityOf(x), set.Has(x))
				}
			}
		}
	}
}
