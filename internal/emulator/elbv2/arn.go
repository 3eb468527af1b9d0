package elbv2

import (
	"regexp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
)

// kind is a kind of resource that an ARN can name.
type kind struct {
	name    string // as in AWS's messages
	pattern *regexp.Regexp
	missing func() error
}

const arnHead = `^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:\d{12}:`

// kinds are compiled once per service; the patterns are constants.
var (
	kindLoadBalancer = kind{"load balancer", regexp.MustCompile(arnHead + `loadbalancer/(app|net|gwy)/[A-Za-z0-9-]+/[0-9a-f]{16}$`), noLoadBalancer}
	kindTargetGroup  = kind{"target group", regexp.MustCompile(arnHead + `targetgroup/[A-Za-z0-9-]+/[0-9a-f]{16}$`), noTargetGroup}
	kindListener     = kind{"listener", regexp.MustCompile(arnHead + `listener/(app|net|gwy)/[A-Za-z0-9-]+/[0-9a-f]{16}/[0-9a-f]{16}$`), noListener}
	kindRule         = kind{"listener rule", regexp.MustCompile(arnHead + `listener-rule/(app|net)/[A-Za-z0-9-]+/[0-9a-f]{16}/[0-9a-f]{16}/[0-9a-f]{16}$`), noRule}
	kindTrustStore   = kind{"trust store", regexp.MustCompile(arnHead + `truststore/[A-Za-z0-9-]+/[0-9a-f]{16}$`), noTrustStore}
)

// find looks up a resource by its ARN: a malformed one is a validation error,
// a well-formed one of nothing the kind's own.
func find[T any](k kind, all map[string]*T, arn string) (*T, error) {
	if !k.pattern.MatchString(arn) {
		return nil, malformed(k, arn)
	}
	if found := all[arn]; found != nil {
		return found, nil
	}
	return nil, k.missing()
}

func malformed(k kind, arn string) error {
	return invalid("'%s' is not a valid %s ARN", arn, k.name)
}

func findLoadBalancer(st *world.ELBState, arn *string) (*world.LoadBalancer, error) {
	return find(kindLoadBalancer, st.LoadBalancers, val(arn))
}

func findTargetGroup(st *world.ELBState, arn *string) (*world.TargetGroup, error) {
	return find(kindTargetGroup, st.TargetGroups, val(arn))
}

func findListener(st *world.ELBState, arn *string) (*world.Listener, error) {
	return find(kindListener, st.Listeners, val(arn))
}

func findRule(st *world.ELBState, arn *string) (*world.Rule, error) {
	return find(kindRule, st.Rules, val(arn))
}

func findTrustStore(st *world.ELBState, arn *string) (*world.TrustStore, error) {
	return find(kindTrustStore, st.TrustStores, val(arn))
}

// findAll looks up each ARN once, in the order given.
func findAll[T any](k kind, all map[string]*T, arns []string) ([]*T, error) {
	var out []*T
	seen := map[string]bool{}
	for _, arn := range arns {
		r, err := find(k, all, arn)
		if err != nil {
			return nil, err
		}
		if !seen[arn] {
			seen[arn] = true
			out = append(out, r)
		}
	}
	return out, nil
}

// mapValues returns the values of a map sorted by key.
func mapValues[T any](m map[string]*T) []*T {
	out := make([]*T, 0, len(m))
	for _, k := range sortedKeys(m) {
		out = append(out, m[k])
	}
	return out
}
