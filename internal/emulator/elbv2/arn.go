package elbv2

import (
	"regexp"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// kind is a kind of resource that an ARN can name.
type kind struct {
	name    string // as in AWS's messages
	code    string // of the error if no resource has the ARN
	pattern *regexp.Regexp
	missing func() error // returns the error if no resource has the ARN
}

const arnHead = `^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:\d{12}:`

// notFoundError returns an error with the ARNs of resources that do not exist.
func (k kind) notFoundError(arns ...string) error {
	return store.Errorf(store.Quoted("aws/copilot-cli#3833"), k.code, "%ss '%s' not found", strings.ToUpper(k.name[:1])+k.name[1:], strings.Join(arns, ", "))
}

// The kinds of resources.
var (
	kindLoadBalancer = kind{"load balancer", "LoadBalancerNotFound", regexp.MustCompile(arnHead + `loadbalancer/(app|net|gwy)/[A-Za-z0-9-]+/[0-9a-f]{16}$`), loadBalancerNotFound}
	kindTargetGroup  = kind{"target group", "TargetGroupNotFound", regexp.MustCompile(arnHead + `targetgroup/[A-Za-z0-9-]+/[0-9a-f]{16}$`), targetGroupNotFound}
	kindListener     = kind{"listener", "ListenerNotFound", regexp.MustCompile(arnHead + `listener/(app|net|gwy)/[A-Za-z0-9-]+/[0-9a-f]{16}/[0-9a-f]{16}$`), listenerNotFound}
	kindRule         = kind{"listener rule", "RuleNotFound", regexp.MustCompile(arnHead + `listener-rule/(app|net)/[A-Za-z0-9-]+/[0-9a-f]{16}/[0-9a-f]{16}/[0-9a-f]{16}$`), ruleNotFound}
	kindTrustStore   = kind{"trust store", "TrustStoreNotFound", regexp.MustCompile(arnHead + `truststore/[A-Za-z0-9-]+/[0-9a-f]{16}$`), trustStoreNotFound}
)

// find returns the resource with an ARN. A malformed ARN, or an ARN of another kind or region, results in a
// validation error; a valid ARN without a resource in the not-found error of the kind.
func find[T any](st *store.ELBState, k kind, all map[string]*T, arn string) (*T, error) {
	if err := k.check(st, arn); err != nil {
		return nil, err
	}
	if found := all[arn]; found != nil {
		return found, nil
	}
	return nil, k.missing()
}

// check returns an error unless an ARN has the kind and the region.
func (k kind) check(st *store.ELBState, arn string) error {
	if !k.pattern.MatchString(arn) || strings.Split(arn, ":")[3] != st.Region() {
		return invalid(store.Quoted("aws/aws-cli#3260"), "'%s' is not a valid %s ARN", arn, k.name)
	}
	return nil
}

func findLoadBalancer(st *store.ELBState, arn *string) (*store.LoadBalancer, error) {
	return find(st, kindLoadBalancer, st.LoadBalancers, store.Value(arn))
}

func findTargetGroup(st *store.ELBState, arn *string) (*store.TargetGroup, error) {
	return find(st, kindTargetGroup, st.TargetGroups, store.Value(arn))
}

func findListener(st *store.ELBState, arn *string) (*store.Listener, error) {
	return find(st, kindListener, st.Listeners, store.Value(arn))
}

func findRule(st *store.ELBState, arn *string) (*store.Rule, error) {
	return find(st, kindRule, st.Rules, store.Value(arn))
}

func findTrustStore(st *store.ELBState, arn *string) (*store.TrustStore, error) {
	return find(st, kindTrustStore, st.TrustStores, store.Value(arn))
}

// findAll returns the resources with the ARNs in the same order, without duplicates.
func findAll[T any](st *store.ELBState, k kind, all map[string]*T, arns []string) ([]*T, error) {
	var out []*T
	seen := map[string]bool{}
	for _, arn := range arns {
		r, err := find(st, k, all, arn)
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
	for _, k := range store.SortedKeys(m) {
		out = append(out, m[k])
	}
	return out
}
