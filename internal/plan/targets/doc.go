// Package targets determines which endpoints of a Service are to be registered in the target group
// of a TargetGroupBinding, what that changes, which rules their security groups need, what a
// target's health means for its pod, and whether anything has changed since the last run. It reads
// the cluster through a view and makes no call.
package targets
