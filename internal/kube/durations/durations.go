// Package durations has the durations for which the controller, its webhook and its commands wait for the Kubernetes API
// and for users, and the intervals of their periodic work. No other package of internal/kube, internal/controller,
// internal/webhook and internal/cli declares a duration.
package durations

import "time"

// Durations of the lease, with the defaults of other controllers.
const (
	// LeaseDuration is how long another process waits after the last renewal that it has read, before it acquires the lease.
	LeaseDuration = 15 * time.Second
	// RenewDeadline is how long the holder tries to renew the lease.
	RenewDeadline = 10 * time.Second
	// RetryPeriod is the time between two attempts, and between two checks of a fenced run whether the lease is renewed. The
	// holder stops writing RenewDeadline and RetryPeriod after the start of its last successful renewal, so that it
	// never writes at the same time as the next holder.
	RetryPeriod = 2 * time.Second
)

// Deadlines of calls and runs.
const (
	// BriefWait is how long an answer about an object is cached for simultaneous runs, how long a shell waits for completions,
	// how long a process that stops waits for its last write of checkpoints, and the shortest interval of --watch.
	BriefWait = 2 * time.Second
	// AnswerTimeout is how long a command waits for the first answer of a server, a run for a write of the store, and the
	// webhook for a request of its own. It is also the first delay after a failure of periodic work for the whole cluster.
	AnswerTimeout = 5 * time.Second
	// StopGrace is how long a run may continue after the process got SIGTERM. With the defaults of the chart, the pod is killed
	// after 10 s, and the process has to write the last checkpoint before.
	StopGrace = 7 * time.Second
	// AdmissionTimeout is the deadline of an admission response. The API server waits ten seconds.
	AdmissionTimeout = 9 * time.Second
	// RequestTimeout is the deadline of a write or read of one object. Calls that the rate limiter delays for longer are
	// logged. It is also the interval at which state is stored that would be lost if the process was killed.
	RequestTimeout = 30 * time.Second
	// ListingTimeout is the deadline of the first listings of kinds. It is also how long a connection to the webhook may be
	// idle: clients in Go close it after 90 seconds.
	ListingTimeout = 2 * time.Minute
	// SlowChangeAge is how long a change of an accelerator may take before fulcrum doctor reports it. It usually takes minutes.
	SlowChangeAge = 20 * time.Minute
)

// Delays and intervals of repeated work.
const (
	// FirstDelay is the delay after the first failure of an item in a queue. It doubles with each further failure.
	FirstDelay = 5 * time.Millisecond
	// StoreWriteCost is the cost of a write of memberships or checkpoints in the rate limiter of these writes.
	StoreWriteCost = 100 * time.Millisecond
	// ShortInterval is the interval of cheap checks: for changed reports, for files that do not exist yet, and for new
	// kinds. It is also how long the calls of a namespace fail immediately after the API server has not answered one of
	// them.
	ShortInterval = 10 * time.Second
	// MinuteInterval is the interval of checks for events that have to be emitted again. It is also the maximum wait for a
	// user, and the maximum age of output.
	MinuteInterval = time.Minute
	// SweepInterval is the interval of checks for unused state, and for changes of administrators, such as of CRDs.
	SweepInterval = 5 * time.Minute
	// LongInterval is the interval of work without a change in Kubernetes, such as the report of a shadow and the check of the
	// certificate of the webhook.
	LongInterval = 10 * time.Minute
	// LongestRepeatDelay is the maximum delay of a write that another client repeatedly undoes. It is also the additional
	// time until a reported fight is over, so that a fight that resumes earlier is not reported again.
	LongestRepeatDelay = 15 * time.Minute
	// MaxDelay is the maximum delay of a load balancer after failures, the same as in the AWS Load Balancer Controller.
	MaxDelay = 1000 * time.Second
	// EventRetention is how long API servers retain an event after its last write by default. It is also the maximum
	// difference between clocks.
	EventRetention = time.Hour
	// OrphanSearchInterval is the interval of searches for orphans, each of which reads all tags of the region.
	OrphanSearchInterval = 6 * time.Hour
	// CertificateLifetime is the validity of the CA and the certificate that the webhook creates. The key of the CA is
	// discarded after it has signed one certificate, so that both have the same validity.
	CertificateLifetime = 365 * 24 * time.Hour
)
