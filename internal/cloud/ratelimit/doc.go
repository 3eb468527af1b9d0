// Package ratelimit keeps calls below the limits of AWS, and learns from the answers what they are. A Limiter has the token
// buckets of one AWS account; a Schedule orders above it the calls that change targets, by deadline and with a share for
// each tenant. A call that would have to wait for long is not made: its caller gets a Postponed error and comes back.
//
// Callers are named by strings. The package has no notion of stacks and bindings, and makes no calls.
package ratelimit
