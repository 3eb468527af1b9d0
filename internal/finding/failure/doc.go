// Package failure classifies failed calls. It returns the class of a failure, the reason and the fix for findings, and the
// message of AWS without the text that the SDK adds. Load balancers and TargetGroupBindings use it, so that the same refusal
// has the same message. It does not decide what happens next.
package failure
