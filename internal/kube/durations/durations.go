// Package durations has the durations for which the controller, its webhook and its commands wait for the Kubernetes API and
// for users, and the intervals of their periodic work. The packages of internal/kube, internal/controller, internal/webhook
// and internal/cli declare no other durations.
package durations

import "time"

// Durations of the lease. The values are the defaults of controller-runtime.
const (
	// LeaseDuration is how long another process waits after the last observed renewal, before it acquires the lease.
	LeaseDuration = 15 * time.Second
	// RenewDeadline is how long the holder tries to renew the lease.
	RenewDeadline = 10 * time.Second
	// RetryPeriod is the time between two attempts to renew the lease. A run that may not write is repeated after the same
	// time. The holder stops writing after RenewDeadline plus RetryPeriod, counted from the start of its last successful
	// renewal, so that it never writes at the same time as the next holder.
	RetryPeriod = 2 * time.Second
)

// Deadlines of calls and runs.
const (
	// BriefWait is how long the answer about an object is cached for simultaneous runs, how long shell completion waits for
	// the API server, and how long a process that stops waits for its last write of checkpoints. It is also the shortest
	// interval of --watch.
	BriefWait = 2 * time.Second
	// AnswerTimeout is how long a command waits for the first answer of a server, how long a run waits for a write of
	// checkpoints or memberships, and how long the webhook waits for a request to arrive completely. It is also the first
	// delay after a failure of periodic work for the whole cluster.
	AnswerTimeout = 5 * time.Second
	// StopGrace is how long a run may continue after the process has received SIGTERM. With the defaults of the chart, the
	// pod is killed after 10 s, and the process has to write the last checkpoint before the pod is killed.
	StopGrace = 7 * time.Second
	// AdmissionTimeout is the deadline of an admission response. The API server waits for ten seconds.
	AdmissionTimeout = 9 * time.Second
	// RequestTimeout is the deadline of a read or write of one object. It is also the interval at which checkpoints are
	// stored. A call that the rate limiter delays for at least this time is logged at the info level.
	RequestTimeout = 30 * time.Second
	// ListingTimeout is the deadline of the first listings of kinds. It is also how long connections to the webhook and to
	// the console may be idle. Go clients close idle connections after 90 seconds.
	ListingTimeout = 2 * time.Minute
	// SlowChangeAge is how long a change of an accelerator may take before fulcrum doctor reports it. Such a change usually
	// takes a few minutes.
	SlowChangeAge = 20 * time.Minute
)

// Delays and intervals of repeated work.
const (
	// FirstDelay is the delay after the first failure of an item in a queue. It doubles with each further failure.
	FirstDelay = 5 * time.Millisecond
	// StoreWriteCost is the minimum cost of a write of memberships or checkpoints, as time between two writes, in the rate
	// limiter of these writes.
	StoreWriteCost = 100 * time.Millisecond
	// ShortInterval is the interval of cheap checks: whether the shadow report has changed, whether the certificate files of
	// the webhooks exist, and whether optional CRDs have been installed. After a failed lookup of an object, further lookups
	// in its namespace return the same error for this time without a call.
	ShortInterval = 10 * time.Second
	// MinuteInterval is the interval of checks for events that have to be emitted again. It is also the maximum time that a
	// command waits for the rate limiter, and the maximum age of cached facts in the output of --watch.
	MinuteInterval = time.Minute
	// SweepInterval is the interval of checks for unused state, and for changes that administrators make, such as new
	// versions of CRDs.
	SweepInterval = 5 * time.Minute
	// LongInterval is the interval of work that no change in Kubernetes triggers, such as the plans and the report in shadow
	// mode and the check of the webhook certificate.
	LongInterval = 10 * time.Minute
	// LongestRepeatDelay is the maximum delay of a write that another client repeatedly undoes. If an event has reported the
	// repeated writes, they are regarded as ended only after this additional time, so that no second event is written if the
	// writes begin again soon.
	LongestRepeatDelay = 15 * time.Minute
	// MaxDelay is the maximum delay of a stack after repeated failures, the same as in the AWS Load Balancer Controller.
	MaxDelay = 1000 * time.Second
	// EventRetention is how long API servers retain an event after its last write by default. It is also the tolerated
	// difference between clocks, and the interval at which the security group rules of nodes and pods are compared with AWS.
	EventRetention = time.Hour
	// OrphanSearchInterval is the interval of searches for orphans, each of which reads all tags of the region.
	OrphanSearchInterval = 6 * time.Hour
	// CertificateLifetime is the validity of the CA and the certificate that the webhook creates. The key of the CA is
	// discarded after it has signed one certificate, so that both have the same validity.
	CertificateLifetime = 365 * 24 * time.Hour
)
