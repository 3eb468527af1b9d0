// Package drift has live state read again on a rolling schedule, out of a small share of the calls that
// AWS admits. The inventory compares what is read with what it held; this package decides when to read,
// and counts the calls that it takes. It calls neither AWS nor Kubernetes itself.
package drift
