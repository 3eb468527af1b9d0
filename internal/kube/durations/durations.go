// Package durations is the table of how long the controller, its webhook and its commands wait for the Kubernetes API
// and for people, and how often they look after what they keep. Nothing else of internal/kube, internal/controller,
// internal/webhook and internal/cli declares a duration.
package durations

import "time"

// The lease, as of other controllers.
const (
	// LeaseDuration is how long a successor waits after the last renewal that it saw.
	LeaseDuration = 15 * time.Second
	// RenewDeadline is how long a holder tries to renew.
	RenewDeadline = 10 * time.Second
	// RetryPeriod is between two attempts, and when a fenced run looks whether the lease was renewed after all. A
	// holder stops writing RenewDeadline and RetryPeriod after the beginning of its last successful renewal, so it
	// never writes at the same time as a successor.
	RetryPeriod = 2 * time.Second
)

// Deadlines.
const (
	// Glance is how long an answer about an object counts, as runs of one moment ask for the same; how long a shell waits
	// for names, and the last checkpoint of a process that stops; and the shortest interval of a watch by a person.
	Glance = 2 * time.Second
	// Answer is how long a command waits until a server answers at all, a run until something is stored, and the webhook
	// for a request that is sent. It is also the first wait after a failure of what is done for the whole cluster.
	Answer = 5 * time.Second
	// StopGrace is how long a run may go on after the process was asked to stop. Pods are killed 10 s after that by the
	// chart's default, and the last checkpoint is still to be written.
	StopGrace = 7 * time.Second
	// Admission is how long an answer of the webhook may take. The API server waits ten seconds.
	Admission = 9 * time.Second
	// Request is how long a write or read of one object may take. A wait for a turn that is as long is logged, and what is
	// lost if a process is killed is saved as often.
	Request = 30 * time.Second
	// Listing is how long the first listings of kinds may take, and a connection may be idle: clients in Go close it
	// after 90 seconds.
	Listing = 2 * time.Minute
	// SlowChange is how long the change of an accelerator may take before the doctor reports it; usually it is minutes.
	SlowChange = 20 * time.Minute
)

// How often something is done.
const (
	// FirstDelay is the wait after the first failure of an item in a queue. It doubles with each further one.
	FirstDelay = 5 * time.Millisecond
	// KeepEach is the cost of a write of memberships or checkpoints in the rate limit for these writes.
	KeepEach = 100 * time.Millisecond
	// Interval is for what is cheap: reports that have changed, files that do not exist yet, kinds that are new. A call
	// that was not answered stands for those of its namespace as long, so that a hanging API server holds up one call.
	Interval = 10 * time.Second
	// Often is for events that are about to be dropped, and is as long as a person may wait or believe what is shown.
	Often = time.Minute
	// Sweep is for looking after what is not used any more or may have changed by an administrator, such as CRDs.
	Sweep = 5 * time.Minute
	// Period is for what has not changed in Kubernetes, such as the report of a shadow or the webhook's certificate.
	Period = 10 * time.Minute
	// Fight is the longest wait of a write that another actor undoes again and again, and how long after it a fight is
	// over: who comes back sooner is not reported again.
	Fight = 15 * time.Minute
	// MaxDelay is the longest wait of a load balancer after failures, as of the controller that is replaced.
	MaxDelay = 1000 * time.Second
	// EventKept is how long API servers keep an event after its last write, unless configured otherwise. The clocks of
	// others may be as far behind.
	EventKept = time.Hour
	// Orphans is between two searches for AWS resources that nothing owns. Each reads all tags of the region.
	Orphans = 6 * time.Hour
	// Lifetime is the lifetime of the webhook's own CA and certificate. The key of a CA is discarded once it has signed
	// one certificate, so a CA lives as long as its certificate.
	Lifetime = 365 * 24 * time.Hour
)
