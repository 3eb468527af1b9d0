// Package durations is the table of how long plans, stacks and bindings wait, believe and remember. Nothing else of
// the packages that decide, internal/plan, internal/engine and internal/translate, declares a duration.
package durations

import "time"

// When to look again.
const (
	// Moment is after a failure that may pass and for objects that are about to arrive. What is that old counts as read
	// now, as the runs of one moment share it, and a registration of targets waits no longer for its turn.
	Moment = time.Second
	// Soon is for what passes without a change, or is waited for by users at first: something is in use, an import of a
	// certificate, new targets while old ones serve on.
	Soon = 2 * time.Second
	// FirstPoll is for what takes some seconds, such as targets to become healthy or to drain. It grows with the time that
	// has passed, up to LastPoll.
	FirstPoll = 3 * time.Second
	// LastPoll keeps the calls of a long wait few. Targets become healthy in this time, or not soon.
	LastPoll = 20 * time.Second
	// Later is for what takes longer than that, or was refused: it is the first back-off of what only a change of input,
	// rights or quota corrects. An object that is missing for so long is believed to be, as informers may show one kind
	// later than another.
	Later = 5 * time.Second
	// Requeue is the default of how soon a binding that waits is looked at again. A target that was refused, or a load
	// balancer that AWS is creating, takes as long. The answers of AWS may lack for that time what an earlier process made;
	// it is shown after some seconds.
	Requeue = 15 * time.Second
	// OutageWait is for what another service of AWS did not answer or is at work on, such as a validation.
	OutageWait = 30 * time.Second
	// MissingWait is for what is missing, and users or other controllers may be about to make, in AWS or in Kubernetes: an
	// object that no controller takes, endpoints, a binding that is gone. It is for what is seen to take minutes too.
	MissingWait = time.Minute
	// DeniedWait is for what was denied, and the longest back-off of what may pass without a change of input. Budgets of
	// refused calls and of imports that a listener waits for gain one as often.
	DeniedWait = 5 * time.Minute
	// LongestBackOff is for what AWS has refused however often. Certificates are renewed that long before their end in
	// spite of a limit of imports.
	LongestBackOff = 15 * time.Minute
	// Resync is the default of how often what has not changed is compared with AWS, as of the controller that is replaced.
	Resync = 10 * time.Hour
)

// How long something may take before a conclusion is drawn from it.
const (
	// Brief is how long a new listener waits for an import, and the time between repeated edits or refusals, which are
	// then no burst.
	Brief = 10 * time.Second
	// Ended is how long targets whose pods have ended may wait for their turn to be taken out: less than the half minute
	// after which a VPC gives an address to another pod.
	Ended = 25 * time.Second
	// Usual is how long what follows a change in Kubernetes within seconds may take before that is reported or given up:
	// EndpointSlices and ENIs follow pods, bindings release targets, a Service follows the binding that waits for it.
	Usual = 30 * time.Second
	// Running is how long targets whose pods are there may wait for their turn to be taken out. When one of them ends it
	// has the time of Ended from then on.
	Running = 45 * time.Second
	// Settle is the settle window: how long AWS may take to show a change. What many runs read at a start may be that old,
	// and the first runs after a start, for as long, are those of what has changed.
	Settle = time.Minute
	// Margin is how much longer than its settings say something may take, as pods start and are registered. A change that
	// AWS did not keep is made again for the first time after it.
	Margin = 2 * time.Minute
	// LongestWait is the deadline of each wait of a plan, and longer than new targets usually take to become healthy.
	LongestWait = 5 * time.Minute
	// Overdue is from when a certificate should have been issued, by what ACM says of itself. After a start it is by when a
	// binding without changes is compared with AWS, and until then its target group is described from memory.
	Overdue = 30 * time.Minute
)

// How long something is remembered.
const (
	// HealthAge is how old a list of targets may be that changes are made from. Own writes are always in it.
	HealthAge = 5 * time.Minute
	// StartSpan is the time, after the first minute, in which stacks that did not change are compared after a start: all are
	// within three quarters of an hour, a few every minute.
	StartSpan = 44 * time.Minute
	// Remembered is for what does not change by itself: descriptions by ARN, zones of targets, certificates that ACM has
	// refused, a full load balancer. What is missing is looked for often for that time.
	Remembered = time.Hour
	// ImportEach is after what time a certificate may be imported once more beyond those at once.
	ImportEach = 2 * time.Hour
	// Rest is how long after a change may be repeated again it is a new one. Who undoes it several times a day is
	// reported.
	Rest = 6 * time.Hour
	// Year is the time over which ACM counts imports.
	Year = 365 * 24 * time.Hour
)
