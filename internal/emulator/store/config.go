package store

import "time"

// HealthPolicy determines where the health of targets comes from.
type HealthPolicy string

const (
	// HealthAssumed makes a target healthy when [Config.InitialHealthDelay] has passed after its registration, without any
	// check.
	HealthAssumed HealthPolicy = "assumed"
	// HealthReported uses only the health that Store.ReportHealth stores. The data plane calls Store.ReportHealth after
	// real health checks.
	HealthReported HealthPolicy = "reported"
)

// Config has the settings that can be changed while the emulator runs. Read and write it under the state lock. The admin API
// returns it as JSON, with durations in nanoseconds.
type Config struct {
	// Quotas overrides the default values of quotas, by the name of the quota, such as
	// "rules-per-application-load-balancer". The packages of the AWS services define the names.
	Quotas map[string]int
	// PageSize is the maximum number of items on each page of all paginated operations. A small value shows whether clients
	// use pagination tokens. If it is 0, only the limits of the AWS services apply.
	PageSize int
	// Shuffle makes lists without a documented order have a random order. It shows whether clients rely on an order.
	Shuffle bool
	// Strict also enforces rules for which there is no proof that AWS has them.
	Strict bool
	// Health is the source of target health.
	Health HealthPolicy
	// InitialHealthDelay is how long a registered target is in the state initial with [HealthAssumed].
	InitialHealthDelay time.Duration
	// Delays has the delays of state changes of network resources. 0 means no delay.
	Delays Delays
	// RequireKnownKeys rejects access key IDs for which no account is known, see [Store.AccountOfAccessKey].
	RequireKnownKeys bool
	// VerifySignatures rejects a request if its signature is wrong or too old. Requests of access keys without a secret are
	// accepted, see [Store.AddSecret].
	VerifySignatures bool

	ELB ELBConfig
	ACM ACMConfig
	WAF WAFConfig

	Route53 Route53Config

	Accelerator AcceleratorConfig
}

// Delays has the durations of temporary states of network resources.
type Delays struct {
	// InterfaceLinger is how long the ENIs of a deleted load balancer remain and prevent the deletion of their security
	// groups.
	InterfaceLinger time.Duration
	// Instance is how long an instance stays in the states pending, stopping and shutting-down.
	Instance time.Duration
	// TerminatedVisible is how long a terminated instance is still listed.
	TerminatedVisible time.Duration
}

// DefaultConfig returns the default configuration: the quotas of AWS, short delays, and lists in random order.
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

// Quota returns the quota with a name. If Config.Quotas does not override it, it returns def.
func (w *Store) Quota(name string, def int) int {
	if v, ok := w.Config.Quotas[name]; ok {
		return v
	}
	return def
}

// PageLimit returns the maximum number of items on a page. This is the minimum of the number in the request (0 for no
// number), the maximum of the AWS service and [Config.PageSize].
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
