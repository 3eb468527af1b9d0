// Package fault determines the faults of a call: throttling by AWS's token buckets, errors by operation and number,
// latency, broken connections, lost responses, stale reads, distorted answers.
//
// The emulator's dispatcher injects the faults.
package fault
