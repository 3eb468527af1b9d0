// Package durations is the table of the intervals, deadlines and ages of plans, stacks and bindings. No other package below
// internal/plan, internal/engine and internal/translate declares a duration.
package durations

import "time"

// When to look again.
const (
	// Moment is the interval after a failure that is likely to pass, and for objects that are about to arrive. Facts
	// of this age count as current, so that runs at the same time share them. A registration of targets waits no
	// longer for the rate limiter.
	Moment = time.Second
	// Soon is the interval for what passes without a change of input, or for what users wait at first: a resource in
	// use, an import of a certificate, new targets while the previous ones still serve.
	Soon = 2 * time.Second
	// FirstPoll is the interval for what takes some seconds, such as targets that become healthy or drain. It grows
	// with the time that has passed, up to LastPoll.
	FirstPoll = 3 * time.Second
	// LastPoll limits the number of calls during a long wait. Targets become healthy within this time, or not soon.
	LastPoll = 20 * time.Second
	// FirstBackOff is the first back-off after a refusal that only a change of input, permissions or quotas corrects,
	// and the interval for what takes longer than LastPoll. An object that is missing for this long counts as
	// missing: informers may receive one kind later than another.
	FirstBackOff = 5 * time.Second
	// Requeue is the default interval for a binding that waits. It is also the interval after a refused target and
	// for a load balancer that AWS is creating. For this time, answers of AWS may lack what an earlier process has
	// created.
	Requeue = 15 * time.Second
	// OutageWait is the interval after a service of AWS did not answer, and while it works on something such as a
	// validation.
	OutageWait = 30 * time.Second
	// MissingWait is the interval for something missing that users or other controllers may be about to create, in
	// AWS or in Kubernetes: an object without a controller, endpoints, a deleted binding. It is also the interval for
	// what takes minutes.
	MissingWait = time.Minute
	// DeniedWait is the interval after a denied call, and the longest back-off of what may pass without a change of
	// input. The budgets of refused calls, and of imports for which a listener waits, grow by one in each such
	// interval.
	DeniedWait = 5 * time.Minute
	// LongestBackOff is the longest back-off of a change that AWS refuses again and again. A certificate is imported
	// this long before its end even if the limit of imports is reached.
	LongestBackOff = 15 * time.Minute
	// Resync is the default interval in which what has not changed is compared with AWS. aws-load-balancer-controller
	// has the same one.
	Resync = 10 * time.Hour
)

// How long something may take before the controller acts on it.
const (
	// ShortWait is how long a new listener waits for an import. Repeated edits or refusals that are this far apart
	// are no burst.
	ShortWait = 10 * time.Second
	// EndedTargetDeadline is how long the deregistration of targets whose pods have ended may be postponed. It is
	// shorter than the half minute after which a VPC gives the address to another pod.
	EndedTargetDeadline = 25 * time.Second
	// FollowUpTime is how long what usually follows a change in Kubernetes within seconds may take before that is
	// reported or given up: EndpointSlices and ENIs follow pods, bindings deregister targets, a Service follows the
	// binding that needs it.
	FollowUpTime = 30 * time.Second
	// RunningTargetDeadline is how long the deregistration of targets whose pods still run may be postponed. When one
	// of these pods ends, EndedTargetDeadline applies from then on.
	RunningTargetDeadline = 45 * time.Second
	// Settle is the settle window: how long AWS may take to show a change. Facts that many runs share after a start
	// may be this old, and for this long after a start only stacks that have changed are run.
	Settle = time.Minute
	// Margin is added to the time that a change should take by its settings, because pods have to start and be
	// registered. A change that AWS did not keep is made again for the first time after it.
	Margin = 2 * time.Minute
	// LongestWait is the deadline of each wait of a plan. New targets usually become healthy sooner.
	LongestWait = 5 * time.Minute
	// Overdue is after what time a certificate should have been issued, according to ACM. It is also within what time
	// after a start a binding without changes is compared with AWS; until then its target group is described from
	// memory.
	Overdue = 30 * time.Minute
)

// How old a fact may be, and how long events count.
const (
	// HealthAge is how old the list of registered targets may be from which changes are made. It always has the own
	// writes.
	HealthAge = 5 * time.Minute
	// StartSpread is the time, after the first minute, over which the comparisons of unchanged stacks are spread
	// after a start: a few every minute, and all within three quarters of an hour.
	StartSpread = 44 * time.Minute
	// StableFactAge is how old facts may be that do not change by themselves: descriptions by ARN, zones of targets,
	// certificates that ACM has refused, a load balancer without room. A missing resource is also looked for often
	// for this long.
	StableFactAge = time.Hour
	// ImportInterval is after what time a certificate may be imported once more when the initial number of imports is
	// used up.
	ImportInterval = 2 * time.Hour
	// RepeatWindow is how long a change that is made again counts as a repetition. Another actor who undoes a change
	// several times a day is reported.
	RepeatWindow = 6 * time.Hour
	// Year is the time over which ACM counts imports for its quota.
	Year = 365 * 24 * time.Hour
)
