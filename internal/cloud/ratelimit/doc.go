// Package ratelimit keeps calls below the rate limits of AWS, and learns these limits from AWS's answers. A Limiter has
// the token buckets of one AWS account; a Schedule orders the calls that change targets by deadline, with a share for
// each tenant, before they take tokens. A call that would have to wait for long is not made: its caller gets a
// PostponedError and tries again later.
//
// Callers are named by strings. The package has no notion of stacks and bindings, and makes no calls.
package ratelimit
