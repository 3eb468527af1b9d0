// Package reference is a small model of AWS Load Balancer Controller v3.5.0, as it starts in a cluster that it is given back in the
// middle of a move from Ingresses to a Gateway. It knows nothing of such moves: it finds what it has by tags alone, makes what it does
// not find, removes tags of others, and deletes what its own tags mark and nothing asks for. It acts by real calls, so that refusals
// are those of AWS.
//
// It decides what is left open by the facts in the way that is worse for what is there: it does not wait, repeats at once what has failed,
// and may work on stacks in any order, also on one in the middle of another. It translates nothing: the desired states are documents in its
// own form (package plan/document), which the recorded cases hold to it. It knows no add-ons, requested certificates, frontend NLBs,
// capacity, or OIDC, and refuses documents that have them. Only tests use it.
package reference
