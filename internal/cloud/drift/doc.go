// Package drift schedules drift checks, which read the observed state again. Drift checks use a small share of the calls
// that AWS admits. This package decides when to read, and counts the calls of the checks. The inventory compares the result
// of each read with its previous content. The package calls neither AWS nor Kubernetes itself.
//
// If the state of a resource differs from the previous read, and this process did not change the resource within the settle
// window, the change is recorded for the stack of the resource, and the stack is enqueued. If nothing has changed, the stack
// is not enqueued. The run compares the whole stack. Steps of its plan that concern the recorded kinds of resources repair
// drift: the controller reports these steps, and carries them out unless the flag --drift is "report".
package drift
