package adversary

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// deregistration is a target that a call has deregistered.
type deregistration struct {
	address string
	at      time.Time
}

func (w *testCluster) deregistrations() []deregistration {
	var out []deregistration
	for _, e := range w.Emulator.Calls().Entries() {
		if in, ok := e.Input.(*elb.DeregisterTargetsInput); ok && e.Code == "" {
			for _, t := range in.Targets {
				out = append(out, deregistration{aws.ToString(t.Id), e.Time})
			}
		}
	}
	return out
}

func TestAttacksByManyCalls(t *testing.T) {
	t.Parallel()
	open := setup{access: openClass}

	// Calls that AWS refuses are repeated with back-off, even if the stack also waits for healthy targets.
	refused := map[string][]string{
		"AddTags":                      {"tags", "Cost=1"},
		"ModifyLoadBalancerAttributes": {"load-balancer-attributes", "idle_timeout.timeout_seconds=90"},
		"ModifyTargetGroupAttributes":  {"target-group-attributes", "slow_start.duration_seconds=60"},
		"ModifyTargetGroup":            {"healthcheck-path", "/up"},
		"SetSubnets":                   {"ip-address-type", "dualstack"},
	}
	for operation, pairs := range refused {
		runCase(t, "07-refused-calls-back-off/"+operation, open, func(w *testCluster) {
			w.isTargetUnhealthy = func(target string) bool { return target == "10.0.149.1" }
			w.attackWith(attackerBackends, unhealthyService, ingressWithOwnLoadBalancer("app"))
			w.advanceAndCompare(longRunTime)
			w.deny(operation)
			w.attackWith(ingressWithOwnLoadBalancer("ill", pairs...)) // new targets that never become healthy, and a change that AWS refuses
			w.Emulator.Calls().Reset()
			w.advanceAndCompare(time.Hour)
			n, total := w.countRefusedCalls(operation), w.Emulator.Calls().Total()
			// A new load balancer and a new target group get these settings without a further call.
			isSetAtCreation := operation == "ModifyTargetGroup" || operation == "SetSubnets"
			w.expectTrue((n > 0 || isSetAtCreation) && n <= 30, "%d calls of %s are rejected in an hour", n, operation)
			w.expectTrue(total <= 400, "%d calls in an hour", total)
		})
	}

	// After a call is refused because of a quota, the run tries no more calls of the same kind.
	runCase(t, "07-refused-calls-back-off/too many rules", open, func(w *testCluster) {
		w.attackWith(attackerBackends, ingressWithManyPorts(1, 190, "evil-rules"))
		w.setQuota("rules-per-application-load-balancer", 100)
		w.Emulator.Calls().Reset()
		w.advanceAndCompare(time.Hour)
		n := w.countRefusedCalls("CreateRule")
		w.expectTrue(n > 0 && n <= 60, "%d calls of CreateRule are rejected in an hour", n)
	})

	// While rules cannot be reordered, retries do not add rules.
	runCase(t, "07-refused-calls-back-off/priorities", open, func(w *testCluster) {
		w.deny("SetRulePriorities")
		w.attackWith(attackerBackends)
		for _, name := range []string{"a", "b", "c"} {
			w.attackWith(attackerIngress{name: name, class: "alb", host: name + ".evil.example.com", pairs: []string{"group.name", "open", "group.order", "15", "target-type", "ip", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`}}.docs())
			w.advanceAndCompare(longRunTime)
		}
		w.advanceAndCompare(time.Hour)
		a, unlock := w.lockAWSReading()
		n := len(a.rules(func(lb string) bool { return lb == w.lbs["open"] })[loadBalancerPort{w.lbs["open"], 443}])
		unlock()
		w.expectTrue(n <= 3+3+1, "there are %d rules on the port, of which 7 are desired", n)
		rejected := w.countRefusedCalls("SetRulePriorities")
		w.expectTrue(rejected > 0 && rejected <= 60, "%d calls are rejected", rejected)
	})

	// No write is made after the lease is lost, not even as a retry of a call.
	var lost atomic.Bool
	fenced := harness.Options{Fence: func() error {
		if lost.Load() {
			return errors.New("the lease is lost")
		}
		return nil
	}}
	for _, operation := range []string{"CreateLoadBalancer", "RegisterTargets", "CreateTargetGroup", "CreateRule"} {
		lost.Store(false)
		runCaseWith(t, "08-every-attempt-is-fenced/"+operation, open, fenced, func(w *testCluster) {
			w.stopComparison()
			attempts := 0
			w.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
				if c.Operation != operation {
					return fault.Action{}
				}
				attempts++
				if attempts > 1 {
					return fault.Action{}
				}
				return fault.Action{Throttle: true, After: func() { lost.Store(true) }}
			})
			w.attackWith(attackerBackends, ingressWithOwnLoadBalancer("app"))
			w.runFor(longRunTime)
			w.expectTrue(attempts == 1, "%d attempts of %s, the later ones without the lease", attempts, operation)
		})
		lost.Store(false)
	}

	// A request that hangs does not block other requests forever.
	for _, operation := range []string{"DescribeLoadBalancers", "DescribeTargetHealth", "CreateTargetGroup", "DescribeSecurityGroups"} {
		h := &hangingOperation{operation: operation}
		runCaseWith(t, "08-requests-have-deadlines/"+operation, setup{access: openClass, scenario: 8}, harness.Options{Workers: 2, Transport: h.wrap}, func(w *testCluster) {
			h.isEnabled.Store(true)
			w.attackWith(attackerBackends, ingressWithOwnLoadBalancer("app"))
			w.advanceAndCompare(2 * longRunTime) // until all facts have been read again
			for _, a := range w.scenarioActs() {
				w.perform(a)
				w.advanceAndCompare(longRunTime)
			}
			w.expectTrue(h.hangingCalls.Load() > 0, "no request was made to hang")
		})
		h.isEnabled.Store(false)
	}

	// A denied read holds only the settings that depend on it.
	for operation, pairs := range map[string][]string{
		"ListCertificates":               nil,
		"DescribeTrustStores":            {"mutual-authentication", `[{"port":8443,"mode":"verify","trustStore":"evil"}]`, "certificate-arn", "$CERT"},
		"DescribeCapacityReservation":    {"minimum-load-balancer-capacity", "CapacityUnits=200", "certificate-arn", "$CERT"},
		"DescribeListenerAttributes":     {"listener-attributes.HTTPS-8443", "routing.http.response.server.enabled=false", "certificate-arn", "$CERT"},
		"DescribeLoadBalancerAttributes": {"load-balancer-attributes", "client_keep_alive.seconds=100", "certificate-arn", "$CERT"},
	} {
		runCase(t, "13-denied-reads-are-isolated/"+operation, setup{access: openClass, scenario: 9}, func(w *testCluster) {
			w.deny(operation)
			w.attackWith(attackerBackends, attackerIngress{class: "alb", host: "evil.example.com", pairs: appendPairs(pairs, "group.name", "open", "group.order", "1000", "target-type", "ip",
				"listen-ports", `[{"HTTPS":8443}]`)}.docs())
			w.advanceAndCompare(longRunTime)
			for _, a := range w.scenarioActs() {
				w.perform(a)
				w.advanceAndCompare(longRunTime)
			}
			w.expectTrue(w.log.hasWarning("Ingress evil/x"), "the attacker gets no warning: %v", w.log.warningsAbout("Ingress evil/x"))
		})
	}
}

// hangingOperation makes the first requests of an operation hang until the caller cancels them.
type hangingOperation struct {
	operation    string
	isEnabled    atomic.Bool
	hangingCalls atomic.Int32
}

func (h *hangingOperation) wrap(next http.RoundTripper) http.RoundTripper {
	return harness.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		const first = 4 // the number of concurrent requests and their first retries
		if h.isEnabled.Load() && h.hangingCalls.Load() < first && strings.Contains(bodyOf(r), "Action="+h.operation+"&") {
			h.hangingCalls.Add(1)
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return next.RoundTrip(r)
	})
}

// bodyOf returns the body of a request and restores it.
func bodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	data, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	return string(data) + "&"
}
