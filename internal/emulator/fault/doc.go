// Package fault decides which faults a call gets: throttling by AWS's token buckets,
// errors by operation and number, latency, broken connections, lost responses, stale
// reads, distorted answers.
//
// It only decides; the emulator's dispatcher injects the faults.
package fault
