// Package sdk has the clients that call AWS in one account and region, with common middleware (fence, rate limiter,
// deadlines, recorder), their configuration, and the classes of AWS's errors. Concurrent callers share a reading, and a
// failed reading is not repeated at once.
//
// Load balancers, target groups, their tags, listeners and rules are essential: if one of them cannot be read, the run
// fails. All other reads are optional: if AWS denies one or does not answer, an observed.Fault replaces the fact. The plan
// then holds what depends on the fact, and the finding names the missing permission.
//
// One attempt of a call has 30 s, a call has one minute, and a call for an optional fact has one attempt. A missed deadline
// is doubled, up to 2 min, and falls again after quick answers. An interrupted reading keeps what it has read, and the next
// reading continues from there. The fence is checked before each attempt of a mutating call, and again when the request of
// the attempt is sent.
package sdk
