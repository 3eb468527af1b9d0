// Package sdk has the clients by which AWS is called, for one account and region, with one stack of middleware (fence, rate
// limiter, deadlines, recorder), their configuration, the classes of AWS's errors, and what all readings have in common:
// concurrent callers share one, and one that failed is not repeated at once.
package sdk
