// Package bindingplan plans the changes for a TargetGroupBinding: its targets, the rules of their security groups, its
// status and the readiness gates of its pods. It computes a plan, which has ordered steps with reasons, from Facts. It does
// not read AWS, Kubernetes or a clock. If a fact is missing, the plan has a Question instead of steps, and is made again
// with the answer.
package bindingplan
