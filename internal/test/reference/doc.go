// Package reference is a small model of AWS Load Balancer Controller v3.5.0. Tests start it in the middle of a move
// from Ingresses to a Gateway, which it does not support: it finds its resources only by tags, creates resources
// that it does not find, removes tags of others, and deletes resources with its tags that are not desired. It makes
// real calls to the emulator, so that it gets the errors of AWS.
//
// If the behaviour is not specified, it has the behaviour that is worse for existing resources: it does not wait,
// retries failures immediately, and may reconcile stacks in any order, even one stack during the reconcile of
// another. It does not translate objects: desired states are documents of package plan/document. It does not support
// add-ons, requested certificates, frontend NLBs, capacity or OIDC, and returns an error for documents with them.
// Only tests use it.
package reference
