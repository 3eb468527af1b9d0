// Package sdk is how AWS is called: clients for one account and region behind one stack of middleware (fence, rate limiter,
// deadlines, report), the configuration that they are made from, what an error of AWS means, and what all readings have in
// common: they are shared among concurrent callers, and one that failed is not repeated at once.
package sdk
