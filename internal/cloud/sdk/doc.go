// Package sdk is how AWS is called: clients for one account and region behind one stack of middleware (fence, rate limiter,
// deadlines, report), the configuration that they are made from, what an error of AWS means, and what all readings have in
// common: they are shared among those who ask at the same time, and one that failed is not repeated at once.
package sdk
