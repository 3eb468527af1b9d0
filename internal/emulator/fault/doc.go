// Package fault decides which faults the emulator injects into a call: throttling by AWS's token buckets, errors of chosen
// operations and calls, latency, broken connections, lost responses, stale reads, and distorted responses.
//
// The dispatcher of the emulator injects the faults.
package fault
