package harness

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// callInterceptor is an http.RoundTripper that calls a function once, just before the next call of an operation is sent
// to AWS.
type callInterceptor struct {
	inner http.RoundTripper

	mu        sync.Mutex
	operation string
	do        func()
}

func (b *callInterceptor) interceptNext(operation string, do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.operation, b.do = operation, do
}

// isArmed reports whether the function has not been called yet.
func (b *callInterceptor) isArmed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.do != nil
}

func (b *callInterceptor) RoundTrip(req *http.Request) (*http.Response, error) {
	operation := req.Header.Get("X-Amz-Target")
	if req.Body != nil && operation == "" {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		operation = string(body)
	}
	b.mu.Lock()
	do := b.do
	if do != nil && (strings.HasPrefix(operation, "Action="+b.operation+"&") || strings.HasSuffix(operation, "."+b.operation)) {
		b.do = nil
	} else {
		do = nil
	}
	b.mu.Unlock()
	if do != nil {
		do()
	}
	return b.inner.RoundTrip(req)
}

// deletionsBeforeRead are deletions by an external actor, each with the operation before whose next call it is made.
var deletionsBeforeRead = map[string]struct {
	operation string
	delete    func(externalActor)
}{
	"load balancer, as it is described":       {"DescribeLoadBalancers", externalActor.deleteLoadBalancer},
	"load balancer, before its target groups": {"DescribeTargetGroups", externalActor.deleteLoadBalancer},
	"load balancer, before its listeners":     {"DescribeListeners", externalActor.deleteLoadBalancer},
	"load balancer, before its rules":         {"DescribeRules", externalActor.deleteLoadBalancer},
	"load balancer, before its certificates":  {"DescribeListenerCertificates", externalActor.deleteLoadBalancer},
	"load balancer, before its attributes":    {"DescribeLoadBalancerAttributes", externalActor.deleteLoadBalancer},
	"load balancer, before its capacity":      {"DescribeCapacityReservation", externalActor.deleteLoadBalancer},
	"load balancer, before its web ACL":       {"GetWebACLForResource", externalActor.deleteLoadBalancer},
	"listener, before its rules":              {"DescribeRules", func(s externalActor) { s.deleteListener(1) }},
	"listener, before its certificates":       {"DescribeListenerCertificates", func(s externalActor) { s.deleteListener(1) }},
	"listener, before its attributes":         {"DescribeListenerAttributes", func(s externalActor) { s.deleteListener(0) }},
	"rule, before tags":                       {"DescribeTags", func(s externalActor) { s.deleteRules(3) }},
	"target group, as it is described":        {"DescribeTargetGroups", func(s externalActor) { s.deleteTargetGroup("api") }},
	"target group, before its attributes":     {"DescribeTargetGroupAttributes", func(s externalActor) { s.deleteTargetGroup("api") }},
	"load balancer and security group": {"DescribeListeners", func(s externalActor) {
		s.deleteLoadBalancer()
		_, err := s.ec2.DeleteSecurityGroup(s.ctx, &ec2.DeleteSecurityGroupInput{GroupId: s.securityGroup("k8s-shop-web").GroupId})
		s.must(err)
	}},
}

// TestResourceDeletedDuringReadIsRecreated checks that a resource that is deleted between two reads of a run is created
// again within six minutes. The run is started by an edit or by the resync.
func TestResourceDeletedDuringReadIsRecreated(t *testing.T) {
	t.Parallel()
	for name, c := range deletionsBeforeRead {
		for _, edited := range []bool{true, false} {
			if edited && c.operation == "DescribeTags" {
				continue // only the resync compares tags
			}
			how := "resync"
			if edited {
				how = "edit"
			}
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var b callInterceptor
					r := newSettledShop(t, Options{Transport: func(inner http.RoundTripper) http.RoundTripper {
						b.inner = inner
						return &b
					}})
					r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api", "/v3=web"))
					r.advanceTime(10 * time.Minute)
					clean := r.fullState()
					r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api"))
					r.advanceTime(10 * time.Minute)
					if !edited {
						r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api", "/v3=web"))
						r.advanceTime(10 * time.Minute)
					}
					b.interceptNext(c.operation, func() { c.delete(newExternalActor(t, r)) })
					if edited {
						r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api", "/v3=web"))
					}
					for range 11 * 60 {
						if r.advanceTime(time.Minute); !b.isArmed() {
							break
						}
					}
					if b.isArmed() {
						t.Fatalf("%s was not called", c.operation)
					}
					r.advanceTime(5 * time.Minute)
					if diff := cmp.Diff(clean, r.fullState()); diff != "" {
						t.Errorf("-want +got:\n%s", diff)
					}
					if want := strings.ToLower(*newExternalActor(t, r).loadBalancer().DNSName); ingressStatusHostname(r) != want {
						t.Errorf("the status shows %q, the load balancer is %q", ingressStatusHostname(r), want)
					}
				})
			})
		}
	}
}

// TestDeletedLoadBalancerIsRecreatedWithNewAttributes checks an edit that sets an attribute after a user deleted the
// load balancer. The load balancer is created again with the attribute, and the status has its hostname.
func TestDeletedLoadBalancerIsRecreatedWithNewAttributes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		r.advanceTime(5 * time.Minute)
		s := newExternalActor(t, r)
		s.deleteLoadBalancer()
		r.Apply(webIngress(ingressAnnotations("load-balancer-attributes", "idle_timeout.timeout_seconds=77"), "/=web"))
		r.advanceTime(time.Minute)
		lb := s.loadBalancer()
		if got := strings.ToLower(aws.ToString(lb.DNSName)); ingressStatusHostname(r) != got {
			t.Errorf("the status shows %q, the load balancer is %q", ingressStatusHostname(r), got)
		}
		if state := strings.Join(r.State(), "\n"); !strings.Contains(state, `"idle_timeout.timeout_seconds":"77"`) {
			t.Error(state)
		}
	})
}

// TestContradictoryAnswersAreReported checks a load balancer that AWS lists, but reports as not found when its
// attributes are read. The read is repeated with back-off, a warning reports the error, and the edit is applied after
// AWS is consistent.
func TestContradictoryAnswersAreReported(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			r := newSettledShop(t, Options{Workers: workers})
			r.Emulator.Faults().Add(fault.Rule{Operation: "DescribeLoadBalancerAttributes", Action: fault.Action{
				Error: &store.Error{Code: "LoadBalancerNotFound", Message: "One or more load balancers not found"},
			}})
			r.Emulator.Calls().Reset()
			edited := strings.Replace(fullIngress(r, "/=web", "/api=api"), "seconds=77", "seconds=78", 1)
			r.Apply(edited)
			if workers == 0 {
				r.Settle(10 * time.Minute)
			} else {
				time.Sleep(10 * time.Minute)
			}
			if n := r.Emulator.Calls().Count("DescribeLoadBalancerAttributes"); n < 3 || n > 80 {
				t.Errorf("%d reads in ten minutes", n)
			}
			if n := r.Emulator.Calls().CountMutating(); n > 0 {
				t.Errorf("%d mutating calls: %v", n, r.Emulator.Calls().Counts())
			}
			if w := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(w, "LoadBalancerNotFound") {
				t.Errorf("warnings: %s", w)
			}
			r.Emulator.Faults().ClearRules()
			r.advanceTime(1000 * time.Second)
			if state := strings.Join(r.State(), "\n"); !strings.Contains(state, `"idle_timeout.timeout_seconds":"78"`) {
				t.Error(state)
			}
		})
	}
}
