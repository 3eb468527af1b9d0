// Package durations declares all durations of internal/cloud: how long answers of AWS are used, how long AWS takes to show
// changes, deadlines, back-off and periods. No other package of internal/cloud declares a duration.
package durations

import "time"

// These constants are the times for which an answer of AWS is used. An answer that is read at intervals is used for less
// time than the interval: each reading then makes one call, which concurrent readings share.
const (
	// Moment is for the health of targets and for ENIs that were missing: a binding reads them every two seconds
	// or less often. It is also the interval at which calls in flight are checked for silence.
	Moment = time.Second
	// PolledFactAge is for certificates that a plan reads every five seconds.
	PolledFactAge = 4 * time.Second
	// Recent is for what changes often: load balancers that are being created, lists from which deletions follow, and
	// refusals, so that a wrong name in one object does not use up calls that all stacks share. It is also the time for
	// which the rate limiter counts a tenant as active, the interval at which drift checks are listed, and the time without
	// an answer after which AWS counts as silent: a call usually takes a second at most.
	Recent = 10 * time.Second
	// PendingOperationAge is for operations in progress that a plan reads every half minute or less often, such as the
	// validation of a certificate or a change of an accelerator.
	PendingOperationAge = 25 * time.Second
	// NotFoundAge is for the answer that a resource does not exist, and for a denied read, because a user is likely to
	// correct the cause soon.
	NotFoundAge = 30 * time.Second
	// NotFoundAgeEach is added to NotFoundAge for each name that does not exist, because each such name costs a call.
	NotFoundAgeEach = 2 * time.Second
	// EditableFactAge is for resources that users change now and then and whose change a plan waits for, such as hosted zones,
	// imported certificates and a shared VPC.
	EditableFactAge = 5 * time.Minute
	// RarelyChangedAge is for what hardly ever changes and what no plan waits for, such as tags, trust stores and the CIDR
	// ranges of a VPC.
	RarelyChangedAge = 10 * time.Minute
	// CacheRetention is for names that users choose, such as names of web ACLs. It is also the time after which caches drop
	// entries that were not read. Callers may require a newer answer.
	CacheRetention = time.Hour
	// UnchangingFactAge is for what never changes, such as the domains of an issued certificate, and for what drift checks
	// read again more often. It is the default period of resynchronization.
	UnchangingFactAge = 10 * time.Hour
)

// Settle windows and propagation delays. AWS documents none of them.
const (
	// SettleWindow is the settle window: how long AWS may take to show what was just created or granted, or to stop showing
	// what was just deleted. The list of all certificates is used for the same time, because AWS shows a new certificate
	// late anyway.
	SettleWindow = time.Minute
	// PropagationDelay is an upper bound of the propagation delay of listener rules, the time until a change reaches all nodes
	// of a load balancer. It is usually some seconds.
	PropagationDelay = 10 * time.Second
	// TagLag is an upper bound of the time until the tagging service shows a new resource.
	TagLag = 15 * time.Minute
	// JustCreatedAge is the maximum age of a load balancer that was just created, by the clock of AWS, which may differ from
	// ours.
	JustCreatedAge = 5 * time.Minute
)

// Deadlines, and back-off after failures.
const (
	// AttemptDeadline is the time that AWS has to answer an attempt of a call. Credentials that expire within this time are
	// not used.
	AttemptDeadline = 30 * time.Second
	// CallDeadline is the time that AWS has to answer a call with all of its attempts; it suffices for two attempts. A
	// throttled read is usually admitted within this time, and is not reported earlier.
	CallDeadline = time.Minute
	// FirstRetry is the back-off after the first failure of a read.
	FirstRetry = 5 * time.Second
	// LastRetry is the longest back-off of reads, and the longest time for which a tenant's calls are postponed. It is less
	// than the five minutes after which a plan repeats a denied read.
	LastRetry = 4 * time.Minute
)

// The periods of drift checks, if the share of calls suffices. Both are shorter than the documented 5 and 15 minutes.
const (
	// FrequentDriftPeriod is for lists, tags, and targets.
	FrequentDriftPeriod = 4 * time.Minute
	// RareDriftPeriod is for readings that take a call or more for each load balancer.
	RareDriftPeriod = 13 * time.Minute
)

// Durations of the rate limiter.
const (
	// ThrottlePause is the first pause of trials after a throttled call. It is also the longest time for which the tokens
	// that AWS has added are counted: a bucket that was empty for hours then learns as fast as one that was full a moment
	// ago.
	ThrottlePause = 2 * time.Minute
	// ReservationHold is how long the queue position of a postponed call is reserved after the time at which the call is
	// expected.
	ReservationHold = 2 * time.Second
	// TrialLatency is the approximate time that AWS takes to answer a trial, a call that is made to learn whether AWS has a
	// token.
	TrialLatency = 50 * time.Millisecond
	// TokenMargin is added to the time at which AWS is expected to have a token, in case the estimate is slightly early.
	TokenMargin = 5 * time.Millisecond
)
