// Package durations declares the durations that packages of internal/cloud use: how long answers of AWS are cached, how long
// AWS takes to show changes, deadlines, back-off and periods.
package durations

import "time"

// These constants are the times for which an answer of AWS is cached. A fact that is read at intervals is cached for less
// time than the interval, so that each read makes a call. Concurrent reads share the call.
const (
	// Moment is for the health of targets and for ENIs that were not found, because bindings read these facts at most every
	// two seconds. It is also the interval at which calls in flight are checked for answers.
	Moment = time.Second
	// PolledFactAge is for certificates that are read every five seconds.
	PolledFactAge = 4 * time.Second
	// Recent is for what changes often, such as load balancers that are being created, and for calls that AWS refused: a
	// wrong name in one object must not use up the calls that all stacks share. It is also the time for which the rate
	// limiter counts a tenant as active, the interval at which drift checks are listed, and the time without an answer after
	// which a call is reported as unanswered. A call usually takes at most a second.
	Recent = 10 * time.Second
	// PendingOperationAge is for operations in progress that are read at most every 30 seconds, such as the validation of a
	// certificate or a change of an accelerator.
	PendingOperationAge = 25 * time.Second
	// NotFoundAge is for the answer that a resource does not exist, and for a denied read. It is short, because a user is
	// likely to correct the cause soon.
	NotFoundAge = 30 * time.Second
	// NotFoundAgePerName, multiplied by the number of names that do not exist, is the time for which not-found answers are
	// cached if many names do not exist. Each of these names costs a call.
	NotFoundAgePerName = 2 * time.Second
	// EditableFactAge is for resources that users sometimes change and for whose change a plan waits, such as hosted zones,
	// imported certificates, a shared VPC and load balancers of other owners.
	EditableFactAge = 5 * time.Minute
	// RarelyChangedAge is for facts that hardly ever change and for which no plan waits, such as tags, trust stores and the
	// CIDR ranges of a VPC.
	RarelyChangedAge = 10 * time.Minute
	// CacheRetention is for names that users choose, such as names of web ACLs. It is also the time after which caches
	// remove entries that were not read again. Callers may require a newer answer.
	CacheRetention = time.Hour
	// UnchangingFactAge is for facts that never change, such as the domains of an issued certificate, and for facts that
	// drift checks read more often than this. It is also the default sync period.
	UnchangingFactAge = 10 * time.Hour
)

// Settle windows and propagation delays. AWS documents none of them.
const (
	// SettleWindow is the settle window: how long AWS may take to show what was just created or granted, or to stop showing
	// what was just deleted. The list of all certificates is cached for the same time, because AWS may take this long to
	// show a new certificate.
	SettleWindow = time.Minute
	// PropagationDelay is an upper bound of the propagation delay of listener rules: the time until a change reaches all
	// nodes of a load balancer. Usually it takes a few seconds.
	PropagationDelay = 10 * time.Second
	// TagLag is an upper bound of the time until the Resource Groups Tagging API shows a new resource.
	TagLag = 15 * time.Minute
	// JustCreatedAge is the age up to which a load balancer or an issued certificate is treated as just created. The age is
	// computed with the time by the clock of AWS, which may differ from the clock of this process. Other services of AWS may
	// not know a resource of this age yet.
	JustCreatedAge = 5 * time.Minute
)

// Deadlines, and back-off after failures.
const (
	// AttemptDeadline is the time within which AWS must answer an attempt of a call. Credentials that expire within this
	// time are not used.
	AttemptDeadline = 30 * time.Second
	// CallDeadline is the time within which AWS must answer a call with all of its attempts. The deadline is long enough for
	// two attempts. A throttled read is usually admitted within this time, and is not reported earlier.
	CallDeadline = time.Minute
	// FirstRetry is the back-off after the first failure of a read.
	FirstRetry = 5 * time.Second
	// LongestReadBackOff is the longest back-off of reads, and the longest time for which the calls of a tenant are
	// postponed. It is less than the five minutes after which a plan repeats a denied read.
	LongestReadBackOff = 4 * time.Minute
)

// The periods of drift checks, if their share of the calls is large enough. Both are shorter than the documented periods of
// 5 and 15 minutes.
const (
	// FrequentDriftPeriod is for lists, tags, and targets.
	FrequentDriftPeriod = 4 * time.Minute
	// RareDriftPeriod is for checks that make at least one call for each load balancer.
	RareDriftPeriod = 13 * time.Minute
)

// Durations of the rate limiter.
const (
	// ThrottlePause is the first pause without trials (see TrialLatency) after a throttled call. Package ratelimit also
	// counts the tokens that AWS has added to an empty bucket for at most this time. Without this limit, the learned rate
	// would change too slowly for a bucket that was not full for hours.
	ThrottlePause = 2 * time.Minute
	// ReservationHold is how long the queue position of a postponed call stays reserved after the time at which the call was
	// expected.
	ReservationHold = 2 * time.Second
	// TrialLatency is the approximate time that AWS takes to answer a trial. A trial is a call that is made to learn whether
	// AWS has a token.
	TrialLatency = 50 * time.Millisecond
	// TokenMargin is added to the computed time at which AWS has a token, because the computed time may be slightly early.
	TokenMargin = 5 * time.Millisecond
)
