package elbv2

import (
	"regexp"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// resourceKind describes a kind of resource that has ARNs.
type resourceKind struct {
	name                 string // name in AWS's messages, such as "load balancer"
	code                 string // error code if no resource has the ARN
	pattern              *regexp.Regexp
	genericNotFoundError func() error // returns an error without ARNs if no resource has the ARN
}

const arnPatternPrefix = `^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:\d{12}:`

// notFoundError returns an error that contains the ARNs of resources that do not exist. Some operations return this
// error. Other operations return an error without ARNs.
func (k resourceKind) notFoundError(arns ...string) error {
	return store.Errorf(store.ReportSource("aws/copilot-cli#3833"), k.code, "%ss '%s' not found", strings.ToUpper(k.name[:1])+k.name[1:], strings.Join(arns, ", "))
}

// These are the kinds of resources with ARNs.
var (
	kindLoadBalancer = resourceKind{"load balancer", "LoadBalancerNotFound", regexp.MustCompile(arnPatternPrefix + `loadbalancer/(app|net|gwy)/[A-Za-z0-9-]+/[0-9a-f]{16}$`), loadBalancerNotFoundError}
	kindTargetGroup  = resourceKind{"target group", "TargetGroupNotFound", regexp.MustCompile(arnPatternPrefix + `targetgroup/[A-Za-z0-9-]+/[0-9a-f]{16}$`), targetGroupNotFoundError}
	kindListener     = resourceKind{"listener", "ListenerNotFound", regexp.MustCompile(arnPatternPrefix + `listener/(app|net|gwy)/[A-Za-z0-9-]+/[0-9a-f]{16}/[0-9a-f]{16}$`), listenerNotFoundError}
	kindRule         = resourceKind{"listener rule", "RuleNotFound", regexp.MustCompile(arnPatternPrefix + `listener-rule/(app|net)/[A-Za-z0-9-]+/[0-9a-f]{16}/[0-9a-f]{16}/[0-9a-f]{16}$`), ruleNotFoundError}
	kindTrustStore   = resourceKind{"trust store", "TrustStoreNotFound", regexp.MustCompile(arnPatternPrefix + `truststore/[A-Za-z0-9-]+/[0-9a-f]{16}$`), trustStoreNotFoundError}
)

// findResource returns the resource with an ARN. It returns a validation error if the ARN is malformed, or is of another
// kind or region. If no resource has the ARN, it returns an error without the ARN.
func findResource[T any](st *store.ELBState, k resourceKind, all map[string]*T, arn string) (*T, error) {
	if err := k.checkARN(st, arn); err != nil {
		return nil, err
	}
	if found := all[arn]; found != nil {
		return found, nil
	}
	return nil, k.genericNotFoundError()
}

// checkARN returns an error unless arn has the form of ARNs of this kind and is in the region of st.
func (k resourceKind) checkARN(st *store.ELBState, arn string) error {
	if !k.pattern.MatchString(arn) || strings.Split(arn, ":")[3] != st.Region() {
		return validationError(store.ReportSource("aws/aws-cli#3260"), "'%s' is not a valid %s ARN", arn, k.name)
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

// findAll returns the resources with the ARNs, in the order of the ARNs and without duplicates. It returns an error if an
// ARN is invalid or does not exist.
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

// sortedValues returns the values of a map, sorted by key.
func sortedValues[T any](m map[string]*T) []*T {
	out := make([]*T, 0, len(m))
	for _, k := range store.SortedKeys(m) {
		out = append(out, m[k])
	}
	return out
}
