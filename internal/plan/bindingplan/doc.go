// Package bindingplan decides what happens to the targets of a TargetGroupBinding, to the rules of the
// security groups in front of them, to its status and to the readiness gates of its pods. Facts go in, a
// plan of ordered steps with reasons comes out. It reads nothing: no AWS, no Kubernetes, no clock. A plan
// that needs another fact asks for it, and is made again with it.
package bindingplan
