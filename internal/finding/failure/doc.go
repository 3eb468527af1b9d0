// Package failure classifies failed calls to AWS and the API server. It returns the class of a failure, the reason and the
// fix for the finding about it, and the message of AWS without the text that the SDK adds. Load balancers and
// TargetGroupBindings both use it, so that the same error has the same message everywhere. It does not decide what happens
// next.
package failure
