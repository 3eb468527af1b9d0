// Package sdk has the clients by which AWS is called, for one account and region, with one stack of middleware (fence, rate
// limiter, deadlines, recorder), their configuration, the classes of AWS's errors, and what all readings have in common:
// concurrent callers share one, and one that failed is not repeated at once.
//
// Load balancers, target groups, their tags, listeners and rules are essential: if one of them cannot be read, the run
// fails. All other reads are optional: if AWS denies one or does not answer, an observed.Fault takes the place of the
// fact. The plan then holds what depends on the fact, and the finding names the missing permission.
//
// One attempt of a call has 30 s, a call has one minute, and a call for an optional fact has one attempt. If a deadline
// is missed, it is doubled, up to 2 min, and it falls again after quick answers. A reading that was interrupted keeps
// what it has read, and the next one continues from there. The fence is checked before each attempt of a call that
// changes something, and again when its request is sent.
package sdk
