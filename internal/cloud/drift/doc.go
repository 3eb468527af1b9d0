// Package drift schedules the checks that read live state again, within a small share of the calls that AWS admits. The
// inventory compares each reading with its previous content; this package decides when to read, and counts the calls of
// the checks. It calls neither AWS nor Kubernetes itself.
//
// Each reading that enters the inventory is compared with the previous one. What differs and was not written by this
// process a moment ago is recorded for its stack, and the stack is queued; an unchanged state causes no run. The run
// compares the whole stack. Those steps of its plan that concern the recorded kinds of resources are drift: they are
// reported, and carried out unless the flag --drift is report.
package drift
