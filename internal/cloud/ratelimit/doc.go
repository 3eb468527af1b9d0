// Package ratelimit keeps calls below the rate limits of AWS, and learns these limits from the answers of AWS. A Limiter has
// the token buckets of one AWS account. A Schedule orders the calls that change targets by deadline, with a share for each
// tenant, before they take tokens. A call that would wait too long is not made: its caller gets a PostponedError, and
// repeats the call later.
//
// Strings identify the callers. The package does not depend on stacks or bindings, and makes no calls.
package ratelimit
