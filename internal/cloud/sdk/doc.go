// Package sdk has the clients that call AWS in one account and region, with common middleware (fencing, rate limiter,
// deadlines, recorder), their configuration, and the classes of AWS errors. Concurrent callers share a read, and a failed
// read is repeated only after a back-off.
//
// Load balancers, target groups, their tags, listeners and rules are essential: if one of them cannot be read, the run
// fails. All other reads are optional: if AWS denies the read or does not answer, an observed.Fault replaces the fact. The
// plan then holds what depends on the fact, and the finding names the missing permission.
//
// An attempt of a call has a deadline of 30 s, and a call of one minute. A call for an optional fact ends after a missed
// deadline. After a missed deadline, the deadline of the next attempt is twice as long, up to 2 min. Fast answers make the
// deadline shorter again. The results of an interrupted read are kept, and the next read continues after these results.
// Fencing is checked before each attempt of a mutating call, and again when the request of the attempt is sent.
package sdk
