package store

import "time"

// HealthPolicy is the source of target health.
type HealthPolicy string

const (
	// HealthAssumed makes a registered target healthy after
	// [Config.InitialHealthDelay], without any check.
	HealthAssumed HealthPolicy = "assumed"
	// HealthReported uses only the health from Store.ReportHealth, which the data plane calls after real health checks.
	HealthReported HealthPolicy = "reported"
)

// Config contains the settings that can be changed while the emulator runs. Read and write it under the state lock. The
// admin API returns it as JSON with durations in nanoseconds.
type Config struct {
	// Quotas overrides default quotas by their name in AWS, such as "rules-per-application-load-balancer". The
	// packages of the services define the names.
	Quotas map[string]int
	// PageSize limits the length of every page of every paginated operation, so that clients must use pagination
	// tokens. 0 means the service's own limits.
	PageSize int
	// Shuffle returns lists without a documented order in a seeded random
	// order, to expose clients that rely on an order.
	Shuffle bool
	// Strict also enforces rules that are not confirmed for AWS.
	Strict bool
	// Health is the source of target health.
	Health HealthPolicy
	// InitialHealthDelay is the time for which a target stays initial with [HealthAssumed].
	InitialHealthDelay time.Duration
	// Delays contains the delays of state changes of network resources, 0 for none.
	Delays Delays
	// RequireKnownKeys rejects access keys that were not registered with
	// [Store.AddAccessKey].
	RequireKnownKeys bool
	// VerifySignatures rejects requests of keys with a secret, see [Store.AddSecret], if the signature is wrong or
	// too old. Requests of keys without a secret are accepted.
	VerifySignatures bool

	ELB ELBConfig
	ACM ACMConfig
	WAF WAFConfig

	Route53 Route53Config

	Accelerator AcceleratorConfig
}

// Delays are the durations of states of network resources.
type Delays struct {
	// InterfaceLinger is the time for which the ENIs of a deleted load balancer remain and block the deletion of
	// security groups.
	InterfaceLinger time.Duration
	// Instance is the time for which an instance stays pending, stopping or shutting down.
	Instance time.Duration
	// TerminatedVisible is the time for which a terminated instance is still listed.
	TerminatedVisible time.Duration
}

// DefaultConfig returns the default configuration: AWS's quotas, short delays, shuffled
// lists.
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

// Quota returns the quota with a name, or def if it is not overridden.
func (w *Store) Quota(name string, def int) int {
	if v, ok := w.Config.Quotas[name]; ok {
		return v
	}
	return def
}

// PageLimit returns the maximum number of items in a page: the minimum of the number in the request (0 if it has
// none), the service's maximum and [Config.PageSize].
func (w *Store) PageLimit(requested, maximum int) int {
	limit := maximum
	if requested > 0 {
		limit = min(limit, requested)
	}
	if w.Config.PageSize > 0 {
		limit = min(limit, w.Config.PageSize)
	}
	return limit
}
