// Package reference is a small model of AWS Load Balancer Controller v3.5.0. Tests start the model in the middle of a
// migration from Ingresses to a Gateway, which that controller does not support. The model finds its resources only by
// tags, creates resources that it does not find, removes tags that others added, and deletes resources that have its tags
// but are not desired. It calls the emulator through the AWS SDK, so it gets the errors of AWS.
//
// Where the behaviour of the controller is not documented, the model does what is worse for existing resources. It does
// not wait, retries failures immediately, and may reconcile stacks in any order, even one stack during the reconcile of
// another. It does not translate objects: desired states are documents of package plan/document. It does not support
// add-ons, requested certificates, frontend NLBs, capacity or OIDC, and returns an error for documents with them.
// Only tests use the package.
package reference
