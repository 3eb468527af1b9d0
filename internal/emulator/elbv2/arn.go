package elbv2

import (
	"regexp"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// resourceKind is a kind of resource that an ARN can name.
type resourceKind struct {
	name         string // name of the kind in AWS's messages
	code         string // error code if no resource has the ARN
	pattern      *regexp.Regexp
	missingError func() error // returns the error if no resource has the ARN
}

const arnPrefix = `^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:\d{12}:`

// notFoundError returns an error with the ARNs of resources that do not exist.
func (k resourceKind) notFoundError(arns ...string) error {
	return store.Errorf(store.Quoted("aws/copilot-cli#3833"), k.code, "%ss '%s' not found", strings.ToUpper(k.name[:1])+k.name[1:], strings.Join(arns, ", "))
}

// The kinds of resources that ARNs identify.
var (
	kindLoadBalancer = resourceKind{"load balancer", "LoadBalancerNotFound", regexp.MustCompile(arnPrefix + `loadbalancer/(app|net|gwy)/[A-Za-z0-9-]+/[0-9a-f]{16}$`), loadBalancerNotFoundError}
	kindTargetGroup  = resourceKind{"target group", "TargetGroupNotFound", regexp.MustCompile(arnPrefix + `targetgroup/[A-Za-z0-9-]+/[0-9a-f]{16}$`), targetGroupNotFoundError}
	kindListener     = resourceKind{"listener", "ListenerNotFound", regexp.MustCompile(arnPrefix + `listener/(app|net|gwy)/[A-Za-z0-9-]+/[0-9a-f]{16}/[0-9a-f]{16}$`), listenerNotFoundError}
	kindRule         = resourceKind{"listener rule", "RuleNotFound", regexp.MustCompile(arnPrefix + `listener-rule/(app|net)/[A-Za-z0-9-]+/[0-9a-f]{16}/[0-9a-f]{16}/[0-9a-f]{16}$`), ruleNotFoundError}
	kindTrustStore   = resourceKind{"trust store", "TrustStoreNotFound", regexp.MustCompile(arnPrefix + `truststore/[A-Za-z0-9-]+/[0-9a-f]{16}$`), trustStoreNotFoundError}
)

// findResource returns the resource with an ARN. A malformed ARN, or an ARN of another kind or region, results in a
// validation error; a valid ARN of a resource that does not exist results in the not-found error of the kind.
func findResource[T any](st *store.ELBState, k resourceKind, all map[string]*T, arn string) (*T, error) {
	if err := k.checkARN(st, arn); err != nil {
		return nil, err
	}
	if found := all[arn]; found != nil {
		return found, nil
	}
	return nil, k.missingError()
}

// checkARN returns an error unless an ARN has the form of this kind of resource and is in the region of the state.
func (k resourceKind) checkARN(st *store.ELBState, arn string) error {
	if !k.pattern.MatchString(arn) || strings.Split(arn, ":")[3] != st.Region() {
		return validationError(store.Quoted("aws/aws-cli#3260"), "'%s' is not a valid %s ARN", arn, k.name)
	}
	return nil
}

func findLoadBalancer(st *store.ELBState, arn *string) (*store.LoadBalancer, error) {
	return findResource(st, kindLoadBalancer, st.LoadBalancers, store.Value(arn))
}

func findTargetGroup(st *store.ELBState, arn *string) (*store.TargetGroup, error) {
	return findResource(st, kindTargetGroup, st.TargetGroups, store.Value(arn))
}

func findListener(st *store.ELBState, arn *string) (*store.Listener, error) {
	return findResource(st, kindListener, st.Listeners, store.Value(arn))
}

func findRule(st *store.ELBState, arn *string) (*store.Rule, error) {
	return findResource(st, kindRule, st.Rules, store.Value(arn))
}

func findTrustStore(st *store.ELBState, arn *string) (*store.TrustStore, error) {
	return findResource(st, kindTrustStore, st.TrustStores, store.Value(arn))
}

// findAll returns the resources with the ARNs, in the order of the ARNs and without duplicates.
func findAll[T any](st *store.ELBState, k resourceKind, all map[string]*T, arns []string) ([]*T, error) {
	var out []*T
	seen := map[string]bool{}
	for _, arn := range arns {
		r, err := findResource(st, k, all, arn)
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

// sortedValues returns the values of a map sorted by key.
func sortedValues[T any](m map[string]*T) []*T {
	out := make([]*T, 0, len(m))
	for _, k := range store.SortedKeys(m) {
		out = append(out, m[k])
	}
	return out
}
