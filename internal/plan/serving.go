package plan

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ShownLoadBalancer returns the observed load balancer that has the resource id and whose DNS name the status shows; nil if
// there is none. During a replacement, several load balancers have the same resource id. A load balancer that is not part of
// a replacement is preferred, then the new load balancer of a replacement.
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

// LiveListenerSettings returns the settings of an observed listener, but with the given default actions.
func LiveListenerSettings(l *observed.Listener, actions []model.Action) ListenerSettings {
	return ListenerSettings{
		Port: l.Port, Protocol: l.Protocol, Policy: l.Policy, ALPN: l.ALPN, Certificate: l.Certificate, MutualAuth: l.MutualAuth, Default: actions,
	}
}

// AWS never returns the client secret of an OpenID Connect action. The engine therefore records a hash of the secret that
// was last written to each listener and rule. If no hash is recorded, for example because another controller created the
// rule, the secret in AWS is assumed to be the desired secret.

// SecretHash returns the hash of the client secret in the actions of the listener or rule with this ARN; empty if the
// actions have no secret, or only the unknown secret that AWS has already.
func SecretHash(arn string, actions []model.Action) string {
	for _, a := range actions {
		if oidc, ok := a.(model.AuthOIDC); ok {
			return oidc.ClientSecret.HashFor(arn)
		}
	}
	return ""
}

// DeletionProtectionAttribute is the load balancer attribute that makes AWS refuse to delete the load balancer.
const DeletionProtectionAttribute = "deletion_protection.enabled"

// IsProtected reports whether a load balancer of the stack has deletion protection in AWS. If some attributes have not been
// read yet, it returns the questions that read them. A load balancer whose attributes cannot be read is treated as
// protected.
func IsProtected(have observed.Stack) (bool, []model.Question) {
	var unknown []model.Question
	for _, lb := range have.LoadBalancers {
		if lb.Attributes[DeletionProtectionAttribute] == "true" {
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
