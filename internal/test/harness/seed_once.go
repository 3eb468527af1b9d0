package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// seededStates has a seededState for each input of Seed, because tests create hundreds of emulators, and seeding takes
// as long as a test.
var seededStates sync.Map

type seededState struct {
	exported []byte
	seeded   Seeded
}

// seedOnce sets the state of a new emulator to the state that Seed creates, with addresses assigned to the ENIs of the
// nodes. Seed is called only once for each start time and options of the emulator, in a separate emulator. All harnesses
// with the same start time and options begin with the same state. With a clock in the options, Seed is called each time.
func seedOnce(ctx context.Context, em *emulator.Emulator, o emulator.Options, addresses []string) (Seeded, error) {
	if o.Clock != nil {
		return seedWithAddresses(ctx, em, addresses)
	}
	config := store.DefaultConfig()
	if o.Config != nil {
		config = *o.Config
	}
	key := fmt.Sprint(time.Now().UnixNano(), o.Seed, o.Account, o.Partition, config, addresses)
	made, ok := seededStates.Load(key)
	if !ok {
		first := emulator.New(o)
		seeded, err := seedWithAddresses(ctx, first, addresses)
		if err != nil {
			return seeded, err
		}
		w := first.Store()
		w.Lock()
		exported, err := w.Export()
		w.Unlock()
		if err != nil {
			return seeded, err
		}
		made, _ = seededStates.LoadOrStore(key, seededState{exported, seeded})
	}
	w := em.Store()
	w.Lock()
	defer w.Unlock()
	return made.(seededState).seeded.clone(), w.Restore(made.(seededState).exported)
}

// seedWithAddresses calls Seed, and assigns each address to the ENI of the node in whose subnet it is.
func seedWithAddresses(ctx context.Context, em *emulator.Emulator, addresses []string) (Seeded, error) {
	world, err := Seed(ctx, em)
	if err != nil {
		return world, err
	}
	for i, node := range world.Instances {
		var own []string
		for _, a := range addresses {
			if NodeIndexOf(a) == i {
				own = append(own, a)
			}
		}
		if len(own) == 0 {
			continue
		}
		if err := AssignPodAddresses(ctx, AWSConfig(em), node, own...); err != nil {
			return world, err
		}
	}
	return world, nil
}

// NodeIndexOf returns the index in Seeded.Instances of the node whose subnet contains an address. The result is no valid
// index if there is no such node.
func NodeIndexOf(address string) int {
	var third int
	_, _ = fmt.Sscanf(address, "10.0.%d.", &third) // third stays 0 for other addresses
	return (third - 128) / 16
}

func (s Seeded) clone() Seeded {
	s.Public, s.Private, s.EIPs, s.Instances = slices.Clone(s.Public), slices.Clone(s.Private), slices.Clone(s.EIPs), slices.Clone(s.Instances)
	s.Certs, s.TargetGroups = maps.Clone(s.Certs), maps.Clone(s.TargetGroups)
	return s
}
