// Package durations has the intervals, deadlines and ages that plans, stacks and bindings use. No other package below
// internal/plan, internal/engine and internal/translate declares a duration.
package durations

import "time"

// Intervals after which a run is repeated.
const (
	// ShortestInterval is the interval after a failure that is probably temporary, and for objects that other controllers
	// create at the same time. Facts of this age are treated as current, so that simultaneous runs can share them. It is
	// also the longest time that a call to register targets waits for the rate limiter.
	ShortestInterval = time.Second
	// RecheckInterval is the interval for conditions that end without a change of input, and for changes that users watch: a
	// resource in use, an import of a certificate, new targets while the previous ones still get requests.
	RecheckInterval = 2 * time.Second
	// FirstPoll is the first interval for changes that take some seconds, such as targets that become healthy or drain. Later
	// intervals grow with the elapsed time, up to LastPoll.
	FirstPoll = 3 * time.Second
	// LastPoll is the longest interval during a long wait, which limits the number of calls. Targets that are not healthy
	// within this time do not become healthy soon.
	LastPoll = 20 * time.Second
	// FirstBackOff is the first back-off after a refusal that only a change of input, permissions or quotas corrects. It is
	// also the interval for changes that take longer than LastPoll, and the time for which an object must be absent before it
	// is treated as missing: informers may receive objects of one kind later than objects of another kind.
	FirstBackOff = 5 * time.Second
	// Requeue is the default interval for a binding that waits. It is also the interval after a refused target, and for a load
	// balancer that AWS is creating. For this time after the start of the process, answers of AWS may lack resources that an
	// earlier process has created.
	Requeue = 15 * time.Second
	// OutageWait is the interval after an AWS service did not answer, and while AWS carries out a long operation, such as a
	// validation.
	OutageWait = 30 * time.Second
	// MissingWait is the interval for a missing resource or object that users or other controllers may be about to
	// create, in AWS or in Kubernetes: an object without a controller, endpoints, a deleted binding. It is also the
	// interval for changes that take minutes.
	MissingWait = time.Minute
	// LongestTransientBackOff is the longest back-off of failures that may be temporary, and the interval after a denied call.
	// The budgets of refused calls, and of imports for which a listener waits, grow by one in each such interval.
	LongestTransientBackOff = 5 * time.Minute
	// LongestBackOff is the longest back-off of a change that AWS refuses repeatedly. It is also the time before the expiry of
	// a certificate at which the renewed certificate is imported even if the limit of imports is reached.
	LongestBackOff = 15 * time.Minute
	// Resync is the default interval at which unchanged stacks and bindings are compared with AWS. The AWS Load Balancer
	// Controller has the same default.
	Resync = 10 * time.Hour
)

// Deadlines after which the controller acts.
const (
	// ShortWait is the time for which a new listener waits for an import. Edits or refusals at longer intervals are not
	// treated as a burst.
	ShortWait = 10 * time.Second
	// EndedTargetDeadline is the longest time for which the deregistration of targets whose pods have ended is postponed. It
	// is shorter than the half minute after which a VPC may assign the address to another pod.
	EndedTargetDeadline = 25 * time.Second
	// FollowUpTime is the longest time for which the controller waits for a consequence of a change in Kubernetes. Examples
	// are EndpointSlices and ENIs for pods, the deregistration of targets by bindings, and a Service for the binding that
	// needs it. They usually take seconds. After this time, a missing consequence is reported or not awaited any longer.
	FollowUpTime = 30 * time.Second
	// RunningTargetDeadline is the longest time for which the deregistration of targets whose pods still run is postponed.
	// When one of these pods ends, EndedTargetDeadline applies.
	RunningTargetDeadline = 45 * time.Second
	// SettleWindow is the settle window: the time until the answers of AWS show a change. It is also the maximum age of facts
	// that many runs share after the controller starts, and the time after the start in which only changed stacks are
	// reconciled.
	SettleWindow = time.Minute
	// DeadlineMargin is added to the time that a change should take according to its settings, because pods must start and be
	// registered. It is also the time after which a change that AWS did not persist is made again for the first time.
	DeadlineMargin = 2 * time.Minute
	// LongestWait is the deadline of most waits of a plan. New targets usually become healthy sooner.
	LongestWait = 5 * time.Minute
	// OverdueDeadline is the time after which, according to ACM, a certificate should have been issued. It is also the time
	// after the start of the controller within which an unchanged binding is compared with AWS. Until this comparison, the
	// cached description of its target group is used.
	OverdueDeadline = 30 * time.Minute
)

// Maximum ages of facts, and periods over which events are counted.
const (
	// HealthAge is the maximum age of the list of registered targets on which changes are based. The list always includes the
	// changes that this process has made.
	HealthAge = 5 * time.Minute
	// StartSpread is the time over which the comparisons of unchanged stacks are spread after the start of the controller. It
	// begins one minute after the start, so that all stacks are compared within three quarters of an hour.
	StartSpread = 44 * time.Minute
	// StableFactAge is the maximum age of facts that seldom change: descriptions by ARN, Availability Zones of targets,
	// certificates that ACM has refused, and load balancers whose quota is reached. It is also the time during which a missing
	// resource is still looked up at short intervals.
	StableFactAge = time.Hour
	// ImportInterval is the time after which a certificate may be imported once more, after its initial number of imports is
	// used up.
	ImportInterval = 2 * time.Hour
	// RepeatWindow is the time within which the same change is treated as a repetition. If another user or controller
	// reverts a change several times in this time, this is reported.
	RepeatWindow = 6 * time.Hour
	// Year is the period in which ACM counts imports for its quota.
	Year = 365 * 24 * time.Hour
)
