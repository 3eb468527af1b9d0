package store

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

// DefaultAccount is the account ID that is used if [Options.Account] is empty.
const DefaultAccount = "123456789012"

// Options configure the emulator state.
type Options struct {
	// Clock defaults to [RealClock].
	Clock Clock
	// Seed is the seed of all random values, such as identifiers and orders of lists.
	Seed uint64
	// Config defaults to [DefaultConfig].
	Config *Config
	// Account is the account of access key IDs for which no other account is known. The default is [DefaultAccount].
	Account string
	// Partition is the name of the AWS partition. The default is "aws".
	Partition string
}

// Store is the emulator state. Callers must hold the state lock (Lock), except for WakeWaiters, Generation, Wait and the
// clock. They must not hold the lock when they call methods that take it, such as ReportHealth.
type Store struct {
	Clock Clock
	// Rand is the source of random orders, and of other random values that may depend on the number of reads.
	Rand   *rand.Rand
	Config Config

	// ids is the random source of identifiers. It is separate from Rand, because the number of reads must not change the
	// identifiers of resources that are created later.
	ids      *rand.Rand
	idSource *rand.PCG

	mu                 sync.Mutex
	account            string
	awsPartition       AWSPartition
	seed               uint64
	partitions         map[partitionKey]*Partition
	accountByAccessKey map[string]string // account ID, by access key ID
	secrets            map[string]string // never exported
	principals         map[string]Principal
	serviceLinkedRoles map[string]bool // key: account and service, see AddServiceLinkedRole
	roles              map[string]Role

	generationMu sync.Mutex
	generation   uint64
	changeSignal chan struct{}
}

type partitionKey struct{ account, region string }

// New returns an empty state. When a partition is first used, it gets a default VPC, as in a new account. New panics if
// o.Partition is not a known AWS partition.
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
	aws, ok := AWSPartitionByName(o.Partition)
	if !ok {
		panic("the emulator has no AWS partition " + o.Partition)
	}
	w := &Store{Clock: o.Clock, Config: cfg, account: o.Account, awsPartition: aws, seed: o.Seed, changeSignal: make(chan struct{})}
	w.clear()
	return w
}

func (w *Store) clear() {
	w.Rand = rand.New(rand.NewPCG(w.seed, w.seed^0x9e3779b97f4a7c15))
	w.idSource = rand.NewPCG(w.seed, w.seed+1)
	w.ids = rand.New(w.idSource)
	w.partitions = map[partitionKey]*Partition{}
	w.accountByAccessKey = map[string]string{}
	w.secrets = map[string]string{}
	w.roles = map[string]Role{}
	w.principals = map[string]Principal{}
	w.serviceLinkedRoles = map[string]bool{}
}

// Reset removes all state. It does not change the clock, the configuration or the seed.
func (w *Store) Reset() { w.clear() }

// Lock takes the state lock.
func (w *Store) Lock() { w.mu.Lock() }

// Unlock releases the state lock.
func (w *Store) Unlock() { w.mu.Unlock() }

// Partition returns the state of an account in a region. It creates the state on first use.
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

// Partitions returns all partitions, ordered by account and region.
func (w *Store) Partitions() []*Partition {
	out := slices.AppendSeq(make([]*Partition, 0, len(w.partitions)), maps.Values(w.partitions))
	slices.SortFunc(out, func(a, b *Partition) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Region, b.Region))
	})
	return out
}

// WakeWaiters makes all calls of Wait return, because the state has changed. It needs no lock. The dispatcher calls it
// after each mutating operation. Other code that changes the state must also call WakeWaiters.
func (w *Store) WakeWaiters() {
	w.generationMu.Lock()
	defer w.generationMu.Unlock()
	w.generation++
	close(w.changeSignal)
	w.changeSignal = make(chan struct{})
}

// Generation returns the number of calls of WakeWaiters so far. It needs no lock.
func (w *Store) Generation() uint64 {
	w.generationMu.Lock()
	defer w.generationMu.Unlock()
	return w.generation
}

// Wait waits until the generation differs from gen, and returns the new generation. It returns an error if ctx ends first.
// Callers must not hold the state lock.
func (w *Store) Wait(ctx context.Context, gen uint64) (uint64, error) {
	for {
		w.generationMu.Lock()
		now, changed := w.generation, w.changeSignal
		w.generationMu.Unlock()
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
