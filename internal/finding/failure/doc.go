// Package failure reports what a failed call means: its class, the reason and the fix in the finding
// about it, and AWS's words without what the SDK adds. Load balancers and TargetGroupBindings share it,
// so that the same refusal reads the same on both. It does not decide what to do next.
package failure
