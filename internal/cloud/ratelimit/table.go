package ratelimit

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// TokenBucket is a limit for the calls of one service whose operations match a regular expression.
type TokenBucket struct {
	Service   string // service ID, as the SDK spells it
	Operation *regexp.Regexp
	Rate      float64 // calls per second
	Burst     int
	// Fixed reports whether the limit never changes. If it is false, the configured limit is only the initial value, and the
	// rate limiter learns the limit from the answers of AWS.
	Fixed bool
}

// String returns the token bucket in the syntax of ParseTokenBuckets.
func (p TokenBucket) String() string {
	return fmt.Sprintf("%s:%s=%s:%d", p.Service, p.Operation, strconv.FormatFloat(p.Rate, 'g', -1, 64), p.Burst)
}

// DefaultTokenBuckets returns the initial limits of the rate limiter: the limits that AWS documents for an account whose
// limits were not raised.
func DefaultTokenBuckets() []TokenBucket {
	p := func(service, op string, rate float64, burst int) TokenBucket {
		return TokenBucket{Service: service, Operation: regexp.MustCompile(op), Rate: rate, Burst: burst}
	}
	return []TokenBucket{
		p(services.ELB, "^RegisterTargets|^DeregisterTargets", 4, 20),
		p(services.ELB, "^Describe.*", 50, 200),
		p(services.ELB, "^CreateLoadBalancer|^SetSubnets", 0.2, 10),
		p(services.ELB, "^Modify|^Delete|^CreateListener|^CreateRule|^CreateTargetGroup|^SetIpAddressType|^SetSecurityGroups|^SetRulePriorities|^Add|^Remove", 3, 20),
		p(services.WAFv2, "^AssociateWebACL|DisassociateWebACL", 0.5, 1),
		p(services.WAFv2, "^GetWebACLForResource|ListResourcesForWebACL", 1, 1),
		p(services.WAFRegional, "^AssociateWebACL|DisassociateWebACL", 0.5, 1),
		p(services.WAFRegional, "^GetWebACLForResource|ListResourcesForWebACL", 1, 1),
		p(services.ACM, "^ImportCertificate", 1, 1),
		p(services.ACM, "^RequestCertificate", 5, 5),
		p(services.ACM, "^Describe|^Get|^List", 8, 8),
		p(services.EC2, "^Describe", 20, 100),
		p(services.EC2, "^Authorize|^Create|^Delete|^Modify|^Revoke", 5, 50),
		p(services.Tagging, ".*", 15, 15),
		p(services.GlobalAccelerator, ".*", 5, 10), // assumed values, because AWS documents no rate for this service
		p(services.Route53, ".*", 3, 5),            // less than the 5 calls per second that AWS admits for the whole account
	}
}

// ParseTokenBuckets parses "serviceID:operationRegex=rate:burst,..." and returns a complete table, sorted by service. The
// entries for a service replace all defaults of that service, and are fixed. The regular expression must not contain "=" and
// ",".
func ParseTokenBuckets(s string) ([]TokenBucket, error) {
	configured := map[string]bool{} // service IDs
	var entries []TokenBucket
	for _, entry := range strings.Split(s, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		p, err := parseTokenBucket(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		configured[p.Service] = true
		entries = append(entries, p)
	}
	table := slices.DeleteFunc(DefaultTokenBuckets(), func(p TokenBucket) bool { return configured[p.Service] })
	table = append(table, entries...)
	slices.SortStableFunc(table, func(a, b TokenBucket) int { return cmp.Compare(a.Service, b.Service) })
	return table, nil
}

// minRate and maxRate are the bounds of a configured rate, in calls per second. A rate outside these bounds is a typing
// error.
const minRate, maxRate = 1e-5, 1e6

func parseTokenBucket(entry string) (TokenBucket, error) {
	bad := func(why string) error {
		return fmt.Errorf("throttle %q: %s; write serviceID:operationRegex=rate:burst", entry, why)
	}
	left, right, ok := strings.Cut(entry, "=")
	service, op, ok1 := strings.Cut(left, ":")
	rate, burst, ok2 := strings.Cut(right, ":")
	if !ok || !ok1 || !ok2 || service == "" {
		return TokenBucket{}, bad("a part is missing")
	}
	if !slices.Contains(services.All, service) {
		return TokenBucket{}, bad("no AWS service has the ID " + service)
	}
	re, err := regexp.Compile(op)
	if err != nil {
		return TokenBucket{}, bad("the regular expression is invalid")
	}
	r, err := strconv.ParseFloat(rate, 64)
	if err != nil || !(r >= minRate && r <= maxRate) { // this condition is also true for NaN
		return TokenBucket{}, bad(fmt.Sprintf("the rate must be a number from %g to %g", minRate, maxRate))
	}
	b, err := strconv.Atoi(burst)
	if err != nil || b < 1 {
		return TokenBucket{}, bad("the burst must be a whole number above 0")
	}
	return TokenBucket{Service: service, Operation: re, Rate: r, Burst: b, Fixed: true}, nil
}
