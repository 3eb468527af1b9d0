package plan

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ShownLoadBalancer returns the live load balancer with a resource id whose DNS name the status shows; nil if there is none.
// During a replacement, several load balancers have the same resource id. A load balancer that neither replaces another one
// nor is replaced comes first, then one that replaces another.
func ShownLoadBalancer(have observed.Stack, resourceID string) *observed.LoadBalancer {
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

// LiveListenerSettings returns the settings of a live listener, with the given default actions in place of the live ones.
func LiveListenerSettings(l *observed.Listener, actions []model.Action) ListenerSettings {
	return ListenerSettings{
		Port: l.Port, Protocol: l.Protocol, Policy: l.Policy, ALPN: l.ALPN, Certificate: l.Certificate, MutualAuth: l.MutualAuth, Default: actions,
	}
}

// AWS never returns the client secret of an OpenID Connect action. The engine therefore records a hash, which is called a
// mark, of the secret that was last written to each listener and rule. If no mark is recorded, for example because another
// controller created the rule, the live secret is assumed to be the desired one.

// SecretMark returns the mark of the client secret in the actions of the listener or rule with this ARN; empty if there is
// no secret, or if the actions have only the live secret.
func SecretMark(arn string, actions []model.Action) string {
	for _, a := range actions {
		if oidc, ok := a.(model.AuthOIDC); ok {
			return oidc.ClientSecret.HashFor(arn)
		}
	}
	return ""
}

// ProtectionAttribute is the attribute with which AWS refuses to delete the load balancer.
const ProtectionAttribute = "deletion_protection.enabled"

// IsProtected reports whether a load balancer of the stack is protected from deletion in AWS. If the attributes were not
// read yet, it returns the questions for them. A load balancer whose attributes cannot be read is treated as protected.
func IsProtected(have observed.Stack) (bool, []model.Question) {
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
