// Package failure classifies failed calls to AWS and to the API server. For a failure, it returns the class, the reason and
// the fix of the finding, and the AWS message without the text that the SDK adds. It is used for load balancers and for
// TargetGroupBindings, so that the same error has the same message everywhere. It does not decide what happens after a
// failure.
package failure
