// Package fault decides what goes wrong with a call: throttling by AWS's
// token buckets, errors by operation and number, latency, broken connections,
// lost responses, stale reads.
//
// It only decides. The dispatcher carries the decision out.
package fault
