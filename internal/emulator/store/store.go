package store

import (
	"context"
	"math/rand/v2"
	"sort"
	"sync"
)

// DefaultAccount is the account of access keys without an account of their own.
const DefaultAccount = "123456789012"

// Options configure the emulator state.
type Options struct {
	// Clock defaults to [RealClock].
	Clock Clock
	// Seed of everything random: identifiers, orders of lists.
	Seed uint64
	// Config defaults to [DefaultConfig].
	Config *Config
	// Account is the account of unknown access keys, [DefaultAccount] if
	// empty.
	Account string
	// Partition is the name of the AWS partition, "aws" if empty.
	Partition string
}

// Store is the emulator state. Everything but Lock, Unlock, Generation, Wait and the
// clock is to be used with the lock held.
type Store struct {
	Clock Clock
	// Rand orders lists and chooses whatever may differ when only the number of reads
	// differs.
	Rand   *rand.Rand
	Config Config

	// ids makes identifiers. It is a stream of its own, so that more or fewer
	// reads do not change the names of what is created.
	ids      *rand.Rand
	idSource *rand.PCG

	mu         sync.Mutex
	account    string
	aws        AWSPartition
	seed       uint64
	partitions map[partitionKey]*Partition
	accessKeys map[string]string
	secrets    map[string]string // never exported
	principals map[string]Principal
	linked     map[string]bool // account and service, see LinkRole
	roles      map[string]Role

	genMu   sync.Mutex
	gen     uint64
	changed chan struct{}
}

type partitionKey struct{ account, region string }

// New returns an empty state. Each partition gets a default VPC when it is first used,
// as a new account has one.
func New(o Options) *Store {
	if o.Clock == nil {
		o.Clock = RealClock{}
	}
	if o.Account == "" {
		o.Account = DefaultAccount
	}
	cfg := DefaultConfig()
	if o.Config != nil {
		cfg = *o.Config
	}
	aws, ok := AWSPartitionNamed(o.Partition)
	if !ok {
		panic("the emulator has no AWS partition " + o.Partition)
	}
	w := &Store{Clock: o.Clock, Config: cfg, account: o.Account, aws: aws, seed: o.Seed, changed: make(chan struct{})}
	w.clear()
	return w
}

func (w *Store) clear() {
	w.Rand = rand.New(rand.NewPCG(w.seed, w.seed^0x9e3779b97f4a7c15))
	w.idSource = rand.NewPCG(w.seed, w.seed+1)
	w.ids = rand.New(w.idSource)
	w.partitions = map[partitionKey]*Partition{}
	w.accessKeys = map[string]string{}
	w.secrets = map[string]string{}
	w.roles = map[string]Role{}
	w.principals = map[string]Principal{}
	w.linked = map[string]bool{}
}

// Reset removes all state; clock, configuration and seed stay.
func (w *Store) Reset() { w.clear() }

// Lock takes the only lock of the state.
func (w *Store) Lock() { w.mu.Lock() }

// Unlock releases it.
func (w *Store) Unlock() { w.mu.Unlock() }

// Partition returns the state of an account in a region, made on first use.
func (w *Store) Partition(account, region string) *Partition {
	key := partitionKey{account, region}
	p, ok := w.partitions[key]
	if !ok {
		p = newPartition(w, account, region)
		w.partitions[key] = p
		p.createDefaultVPC()
	}
	return p
}

// Partitions returns all partitions by account, then region.
func (w *Store) Partitions() []*Partition {
	out := make([]*Partition, 0, len(w.partitions))
	for _, p := range w.partitions {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Account != out[j].Account {
			return out[i].Account < out[j].Account
		}
		return out[i].Region < out[j].Region
	})
	return out
}

// Bump wakes the callers of Wait after a change. It needs no lock; the dispatcher calls
// it after each mutating operation, others call it when they change state on their own.
func (w *Store) Bump() {
	w.genMu.Lock()
	defer w.genMu.Unlock()
	w.gen++
	close(w.changed)
	w.changed = make(chan struct{})
}

// Generation counts the changes so far. It needs no lock.
func (w *Store) Generation() uint64 {
	w.genMu.Lock()
	defer w.genMu.Unlock()
	return w.gen
}

// Wait returns the generation once it differs from gen, or an error when ctx
// ends first. It needs no lock and must not be called with it held.
func (w *Store) Wait(ctx context.Context, gen uint64) (uint64, error) {
	for {
		w.genMu.Lock()
		now, changed := w.gen, w.changed
		w.genMu.Unlock()
		if now != gen {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return gen, ctx.Err()
		case <-changed:
		}
	}
}
