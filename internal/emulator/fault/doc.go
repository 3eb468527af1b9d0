// Package fault decides which faults a call gets: throttling by AWS's token buckets,
// errors by operation and number, latency, broken connections, lost responses, stale
// reads, answers that show something else than there is.
//
// It only decides. The dispatcher injects the fault.
package fault
