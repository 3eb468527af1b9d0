// Package durations is the table of how long what concerns AWS takes, is kept and is waited for. Nothing
// else of internal/cloud declares a duration.
package durations

import "time"

// How old an answer of AWS may be. Where an answer is asked for at intervals, it is believed for less time than
// one of them takes, so that each look is one call and looks of the same moment share it.
const (
	// Moment is for health of targets and for ENIs that were missing: a binding looks at them every two seconds
	// or more. It is also the interval at which calls under way are looked at.
	Moment = time.Second
	// Polled is for certificates that a plan asks for every five seconds.
	Polled = 4 * time.Second
	// Recent is for what is changing: load balancers that are being made, lists that deletions follow from, and
	// refusals, so that a wrong name does not cost everybody's calls. The rate limiter counts active tenants over the
	// same time, the search for drift lists as often what there is, and AWS counts as silent
	// when a call has no answer for so long: usual ones take a second at most.
	Recent = 10 * time.Second
	// Pending is for what AWS is at work on and a plan looks at every half minute or more seldom, such as the
	// validation of a certificate or an accelerator in progress.
	Pending = 25 * time.Second
	// None is for the answer that there is none, and for a denied read: a user is about to correct that.
	None = 30 * time.Second
	// NoneEach is what each name that does not exist adds to that time, as it costs a call of its own.
	NoneEach = 2 * time.Second
	// Editable is for what others change now and then and is waited for then, such as hosted zones, imported
	// certificates and a VPC that is shared.
	Editable = 5 * time.Minute
	// Stable is for what hardly ever changes and is not waited for, such as tags, trust stores and the ranges of a VPC.
	Stable = 10 * time.Minute
	// Kept is for names of others and is the time after which caches drop what was not asked for, since users choose
	// the keys. Callers may ask for a newer answer.
	Kept = time.Hour
	// Unchanging is for what never changes, such as the domains of an issued certificate, and for what the search for
	// drift keeps current. It is the default period of resynchronization.
	Unchanging = 10 * time.Hour
)

// What AWS shows late. It documents no times.
const (
	// Settle is how long AWS may take to show what was just made or granted, or to stop showing what was just deleted.
	// The list of all certificates may be that old: a new one is shown late anyway.
	Settle = time.Minute
	// Propagation is how long a change of listener rules may take to reach all nodes of a load balancer, generously:
	// it takes some seconds.
	Propagation = 10 * time.Second
	// TagLag is how long the tagging service may take to show a new resource, generously.
	TagLag = 15 * time.Minute
	// Created is how old a load balancer may be that was made here a moment ago, by a clock of AWS that differs.
	Created = 5 * time.Minute
)

// Deadlines, and when to try again.
const (
	// Attempt is how long AWS may take for an attempt of a call. Credentials are not used for an attempt that might
	// outlast them.
	Attempt = 30 * time.Second
	// Call is how long a call may take with all its attempts: two. A read that was throttled is admitted by then as a
	// rule, so it is not reported before.
	Call = time.Minute
	// FirstRetry is when a read that failed is tried again for the first time.
	FirstRetry = 5 * time.Second
	// LastRetry is for reads that fail again and again, and bounds for how long a tenant's calls are postponed. It is less
	// than the five minutes after which a plan asks again for what was denied.
	LastRetry = 4 * time.Minute
)

// How often what is live is read again where the share of calls allows it. Both leave room below what is promised:
// 5 and 15 minutes.
const (
	// DriftOften is for lists, tags, and targets.
	DriftOften = 4 * time.Minute
	// DriftSeldom is for what takes a call or more for each load balancer.
	DriftSeldom = 13 * time.Minute
)

// The token buckets of AWS.
const (
	// Throttled is how long no trial follows a throttled call, at first, and for how long tokens that AWS gave count, so
	// that a bucket that was empty for hours learns as fast as one that was full a moment ago.
	Throttled = 2 * time.Minute
	// Reserved is how long a call may be late for the time that it was given before it holds up no other.
	Reserved = 2 * time.Second
	// Trial is about how long AWS takes to answer a call that is made to learn whether it has a token.
	Trial = 50 * time.Millisecond
	// Behind keeps calls a little behind the moment at which AWS has a token for them.
	Behind = 5 * time.Millisecond
)
