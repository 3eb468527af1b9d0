// Package drift schedules the checks that read live state again, within a small share of the calls that AWS admits. The
// inventory compares each reading with its previous content; this package decides when to read, and counts the calls of
// the checks. It calls neither AWS nor Kubernetes itself.
package drift
