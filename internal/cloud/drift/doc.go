// Package drift schedules drift checks, which read the observed state again. They use a small share of the calls that AWS
// admits. This package decides when to read, and counts the calls of the checks. The inventory compares each reading with
// its previous content. The package calls neither AWS nor Kubernetes itself.
//
// If a reading differs from the previous one, and this process did not change the resource within the settle window, the
// change is recorded for the stack of the resource, and the stack is enqueued. An unchanged state causes no run. The run
// compares the whole stack. Steps of its plan that concern the recorded kinds of resources repair drift: the controller
// reports these steps, and carries them out unless the flag --drift is "report".
package drift
