package plan

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Serving returns the load balancer of a resource id that the status shows: the one that takes the place of no
// other and whose place no other has taken, or else the first that takes another's. It is nil if there is
// none.
func Serving(have observed.Stack, resourceID string) *observed.LoadBalancer {
	rank := func(lb *observed.LoadBalancer) int {
		switch {
		case lb.Tags[naming.ReplacedTag] != "":
			return 2
		case lb.Tags[naming.SuccessorTag] != "":
			return 1
		}
		return 0
	}
	var best *observed.LoadBalancer
	for i := range have.LoadBalancers {
		lb := &have.LoadBalancers[i]
		if lb.ResourceID == resourceID && (best == nil || rank(lb) < rank(best)) {
			best = lb
		}
	}
	return best
}

// AWS never returns the client secret of an action that authenticates by OpenID Connect. So it is
// remembered which one each listener and rule was given, as a mark; where nothing is remembered, as
// after another controller, the live secret is taken to be the desired one.

// SecretMark returns the mark of the client secret among the actions of a listener or rule with the ARN;
// empty if there is none, or if the one that is live is meant.
func SecretMark(arn string, actions []model.Action) string {
	for _, a := range actions {
		if oidc, ok := a.(model.AuthOIDC); ok {
			return oidc.ClientSecret.Mark(arn)
		}
	}
	return ""
}

// ProtectionAttribute is the attribute that keeps a load balancer from being deleted.
const ProtectionAttribute = "deletion_protection.enabled"

// Protected reports whether a load balancer of the stack is protected from deletion in AWS, and asks where that is not
// known yet. What cannot be read may be protected.
func Protected(have observed.Stack) (bool, []model.Question) {
	var unknown []model.Question
	for _, lb := range have.LoadBalancers {
		if lb.Attributes[ProtectionAttribute] == "true" {
			return true, nil
		}
		if lb.Attributes != nil {
			continue
		}
		q := model.AskAttributes{Of: string(LoadBalancer), ARN: lb.ARN}
		if _, failed := have.Facts.Faults[q.Key()]; failed {
			return true, nil
		}
		unknown = append(unknown, q)
	}
	return false, unknown
}
