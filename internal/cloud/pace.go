package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// Pace limits the calls of one service whose operation matches, so that AWS has no reason to
// throttle them.
type Pace struct {
	Service   string // service id, as the SDK spells it
	Operation *regexp.Regexp
	Rate      float64 // calls per second
	Burst     int
}

// String is the form that ParsePaces reads.
func (p Pace) String() string {
	return fmt.Sprintf("%s:%s=%s:%d", p.Service, p.Operation, strconv.FormatFloat(p.Rate, 'g', -1, 64), p.Burst)
}

// DefaultPaces keep below what AWS admits to an account whose limits were not raised. They follow
// AWS's own buckets, where making a load balancer is the scarcest of all, and leave some room for
// calls that the SDK repeats.
func DefaultPaces() []Pace {
	p := func(service, op string, rate float64, burst int) Pace {
		return Pace{Service: service, Operation: regexp.MustCompile(op), Rate: rate, Burst: burst}
	}
	return []Pace{
		p(serviceELB, "^RegisterTargets|^DeregisterTargets", 4, 20),
		p(serviceELB, "^Describe.*", 50, 200),
		p(serviceELB, "^CreateLoadBalancer|^SetSubnets", 0.2, 10),
		p(serviceELB, "^Modify|^Delete|^CreateListener|^CreateRule|^CreateTargetGroup|^SetIpAddressType|^SetSecurityGroups|^SetRulePriorities|^Add|^Remove", 3, 18),
		p(serviceWAFv2, "^AssociateWebACL|DisassociateWebACL", 0.5, 1),
		p(serviceWAFv2, "^GetWebACLForResource|ListResourcesForWebACL", 1, 1),
		p(serviceWAFRegional, "^AssociateWebACL|DisassociateWebACL", 0.5, 1),
		p(serviceWAFRegional, "^GetWebACLForResource|ListResourcesForWebACL", 1, 1),
		p(serviceRoute53, ".*", 3, 5), // AWS takes 5 a second, from all of the account together
	}
}

// ParsePaces reads "serviceID:operationRegex=rate:burst,..." and gives the whole table: entries
// for a service take the place of all defaults of that service. The expression must not contain
// the separators.
func ParsePaces(s string) ([]Pace, error) {
	own := map[string]bool{}
	var given []Pace
	for _, entry := range strings.Split(s, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		p, err := parsePace(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		own[p.Service] = true
		given = append(given, p)
	}
	table := slices.DeleteFunc(DefaultPaces(), func(p Pace) bool { return own[p.Service] })
	table = append(table, given...)
	slices.SortStableFunc(table, func(a, b Pace) int { return cmp.Compare(a.Service, b.Service) })
	return table, nil
}

func parsePace(entry string) (Pace, error) {
	bad := func(why string) error {
		return fmt.Errorf("throttle %q: %s; write serviceID:operationRegex=rate:burst", entry, why)
	}
	left, right, ok := strings.Cut(entry, "=")
	service, op, ok1 := strings.Cut(left, ":")
	rate, burst, ok2 := strings.Cut(right, ":")
	if !ok || !ok1 || !ok2 || service == "" {
		return Pace{}, bad("a part is missing")
	}
	if !slices.Contains(services, service) {
		return Pace{}, bad("no service has the id " + service)
	}
	re, err := regexp.Compile(op)
	if err != nil {
		return Pace{}, bad("the expression is not valid")
	}
	r, err := strconv.ParseFloat(rate, 64)
	if err != nil || r <= 0 {
		return Pace{}, bad("the rate must be a number above 0")
	}
	b, err := strconv.Atoi(burst)
	if err != nil || b < 1 {
		return Pace{}, bad("the burst must be a whole number above 0")
	}
	return Pace{Service: service, Operation: re, Rate: r, Burst: b}, nil
}

// margin keeps calls a little behind the moment at which AWS has a token for them.
const margin = 5 * time.Millisecond

// bucket is a token bucket whose tokens can be had in advance: who takes one that is not there
// yet waits for it, in the order of taking.
type bucket struct {
	Pace
	mu     sync.Mutex
	tokens float64
	at     time.Time
}

// take takes a token and says how long to wait for it. If that were longer than limit no token is
// taken and ok is false.
func (b *bucket) take(now time.Time, limit time.Duration) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait = b.wait(now, 1); wait > limit {
		return wait, false
	}
	b.tokens--
	return wait, true
}

// until is how long it takes until the bucket holds so many tokens, if no more are taken.
func (b *bucket) until(now time.Time, tokens float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wait(now, tokens)
}

// wait is until; the lock is held.
func (b *bucket) wait(now time.Time, tokens float64) time.Duration {
	if b.at.IsZero() {
		b.tokens, b.at = float64(b.Burst), now
	}
	if d := now.Sub(b.at); d > 0 {
		b.tokens = min(float64(b.Burst), b.tokens+d.Seconds()*b.Rate)
		b.at = now
	}
	if b.tokens >= tokens {
		return 0
	}
	return time.Duration((tokens-b.tokens)/b.Rate*float64(time.Second)) + margin
}

func (b *bucket) spend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens--
}

func (b *bucket) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(float64(b.Burst), b.tokens+1)
}

// pacer waits before calls as the table says.
type pacer struct {
	buckets []*bucket
	now     func() time.Time
	limit   time.Duration
}

func newPacer(table []Pace, now func() time.Time, limit time.Duration) *pacer {
	p := &pacer{now: now, limit: limit}
	for _, e := range table {
		p.buckets = append(p.buckets, &bucket{Pace: e})
	}
	return p
}

// wait waits until the call may be made. A call that would have to wait for longer than the limit
// is not made; its error tells when to try again. Calls on targets have taken their turn elsewhere.
func (p *pacer) wait(ctx context.Context, service, operation string) error {
	if scheduled(service, operation) {
		return nil
	}
	var longest time.Duration
	var taken []*bucket
	for _, b := range p.buckets {
		if b.Service != service || !b.Operation.MatchString(operation) {
			continue
		}
		d, ok := b.take(p.now(), p.limit)
		if !ok {
			for _, t := range taken {
				t.giveBack()
			}
			return &Error{What: operation, class: engine.Throttled, after: d, err: errors.New("put off, to keep below AWS's limits")}
		}
		taken = append(taken, b)
		longest = max(longest, d)
	}
	if longest <= 0 {
		return nil
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
