package store

import "time"

// HealthPolicy is the source of target health.
type HealthPolicy string

const (
	// HealthAssumed makes a registered target healthy after
	// [Config.InitialHealthDelay], without any check.
	HealthAssumed HealthPolicy = "assumed"
	// HealthReported takes health from Store.ReportHealth alone, which the
	// data plane calls after real checks.
	HealthReported HealthPolicy = "reported"
)

// Config holds what can be adjusted while the emulator runs. Read and write it under
// the state lock. It has a JSON form for the admin API; durations there are
// nanoseconds.
type Config struct {
	// Quotas overrides default quotas by their name in AWS, such as
	// "rules-per-application-load-balancer". Names: the operation packages.
	Quotas map[string]int
	// PageSize caps the length of every page of every paginated operation,
	// to make clients follow tokens. 0 means the service's own limits.
	PageSize int
	// Shuffle makes lists that AWS leaves unordered come in a seeded random
	// order, to expose clients that rely on one.
	Shuffle bool
	// Strict also applies rules that are not confirmed from AWS.
	Strict bool
	// Health is the source of target health.
	Health HealthPolicy
	// InitialHealthDelay is how long a target stays initial under
	// [HealthAssumed].
	InitialHealthDelay time.Duration
	// Delays of the states that change over time, 0 for at once.
	Delays Delays
	// RequireKnownKeys rejects access keys that were not registered with
	// [Store.AddAccessKey].
	RequireKnownKeys bool
	// VerifySignatures rejects requests of keys with a secret, see [Store.AddSecret],
	// if the signature is wrong or too old. Keys without a secret pass.
	VerifySignatures bool

	ELB ELBConfig
	ACM ACMConfig
	WAF WAFConfig

	Route53 Route53Config

	Accelerator AcceleratorConfig
}

// Delays are how long network resources take in the background.
type Delays struct {
	// InterfaceLinger is how long the ENIs of a deleted load balancer remain and block
	// the deletion of security groups.
	InterfaceLinger time.Duration
	// Instance is how long an instance stays pending, stopping or shutting
	// down.
	Instance time.Duration
	// TerminatedVisible is how long a terminated instance is still listed.
	TerminatedVisible time.Duration
}

// DefaultConfig returns a quick and faithful cloud: AWS's quotas, short delays,
// shuffled lists.
func DefaultConfig() Config {
	return Config{
		Quotas:             map[string]int{},
		Shuffle:            true,
		Strict:             true,
		Health:             HealthAssumed,
		InitialHealthDelay: time.Second,
		Delays:             Delays{TerminatedVisible: time.Hour},
		ELB:                defaultELBConfig(),
		ACM:                defaultACMConfig(),
		WAF:                defaultWAFConfig(),
		Route53:            Route53Config{SyncDelay: time.Second},
		Accelerator:        defaultAcceleratorConfig(),
	}
}

// Quota returns the quota of that name, def unless it was overridden.
func (w *Store) Quota(name string, def int) int {
	if v, ok := w.Config.Quotas[name]; ok {
		return v
	}
	return def
}

// PageLimit returns how many items the next page may have: the least of what
// the caller asked for (0 means nothing asked), the service's maximum and
// [Config.PageSize].
func (w *Store) PageLimit(asked, max int) int {
	limit := max
	if asked > 0 && asked < limit {
		limit = asked
	}
	if w.Config.PageSize > 0 && w.Config.PageSize < limit {
		limit = w.Config.PageSize
	}
	return limit
}
