// Package drift schedules drift checks, which read the observed state again. They use a small share of the calls that AWS
// admits. The inventory compares each reading with its previous content; this package decides when to read, and counts the
// calls of the checks. It calls neither AWS nor Kubernetes itself.
//
// If a reading differs from the previous one and this process has not written the difference a moment ago, the change is
// recorded for its stack, and the stack is queued. An unchanged state causes no run. The run compares the whole stack. The
// steps of its plan that concern the recorded kinds of resources repair drift: they are reported, and carried out unless the
// flag --drift is report.
package drift
