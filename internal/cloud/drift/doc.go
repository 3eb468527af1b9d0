// Package drift reads live state again on a rolling schedule, out of a small share of the calls that
// AWS admits. What it reads is compared by whoever reads it; this package decides when, and counts
// what it costs. It calls neither AWS nor Kubernetes.
package drift
