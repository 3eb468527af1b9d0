package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// forceState sets the state in AWS of the load balancers that match; "" restores their real state.
func forceState(r *Harness, state elbtypes.LoadBalancerStateEnum, match func(*store.LoadBalancer) bool) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		if match(lb) {
			lb.ForcedState = state
		}
	}
}

// TestFailedLoadBalancerIsCheckedRarely checks a load balancer that AWS could not create: its state is read less and less often,
// a warning names it, and an accelerator leaves it out. When it is active, or another one is created after a user has deleted it,
// it is used.
func TestFailedLoadBalancerIsCheckedRarely(t *testing.T) {
	t.Parallel()
	all := func(*store.LoadBalancer) bool { return true }
	public := func(lb *store.LoadBalancer) bool { return lb.Scheme == elbtypes.LoadBalancerSchemeEnumInternetFacing }
	setDelay := func(r *Harness, d time.Duration) {
		w := r.Emulator.Store()
		w.Lock()
		defer w.Unlock()
		w.Config.ELB.ProvisioningDelay = d
	}
	replace := func(r *Harness) {
		setDelay(r, time.Hour)
		r.Apply(webIngress(", alb.ingress.kubernetes.io/scheme: internet-facing", "/=web"))
		r.Settle(time.Minute)
		forceState(r, elbtypes.LoadBalancerStateEnumFailed, public)
	}
	isReplaced := func(r *Harness) bool { return !strings.HasPrefix(ingressHostname(r), "internal-") }
	for name, c := range map[string]struct {
		begin, repair func(*Harness)
		want          func(*Harness) bool // after the repair
	}{
		"endpoint": {func(r *Harness) {
			forceState(r, elbtypes.LoadBalancerStateEnumFailed, all)
			r.Start()
			r.Apply(edgeAccelerator(webListener))
		}, func(r *Harness) { forceState(r, "", all) }, func(r *Harness) bool { return len(acceleratorEndpoints(r)) == 1 }},
		"replacement": {replace, func(r *Harness) { forceState(r, "", public) }, isReplaced},
		"deleted replacement": {replace, func(r *Harness) {
			setDelay(r, time.Minute)
			lbs, err := elb.NewFromConfig(AWSConfig(r.Emulator)).DescribeLoadBalancers(r.T.Context(), &elb.DescribeLoadBalancersInput{})
			if err != nil {
				r.T.Fatal(err)
			}
			for _, lb := range lbs.LoadBalancers {
				if lb.State.Code == elbtypes.LoadBalancerStateEnumFailed {
					if _, err := elb.NewFromConfig(AWSConfig(r.Emulator)).DeleteLoadBalancer(r.T.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn}); err != nil {
						r.T.Fatal(err)
					}
				}
			}
		}, isReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs := map[string]int{}
				r := newAcceleratorHarness(t, Options{AfterRun: func(what string, _ error) { runs[what]++ }})
				c.begin(r)
				r.Settle(time.Hour)
				clear(runs)
				r.Settle(6 * time.Hour)
				for what, n := range runs {
					if n > int(6*time.Hour/durations.LongestBackOff)+1 && !strings.Contains(what, "binding") {
						t.Errorf("%d runs of %s in six hours", n, what)
					}
				}
				if c.want(r) {
					t.Error("the failed load balancer is used")
				}
				if got := warningsByObject(r)["web"]; !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "could not create load balancer") }) {
					t.Errorf("warnings of the Ingress: %v", got)
				}
				c.repair(r)
				r.Settle(20 * time.Minute)
				if !c.want(r) {
					t.Errorf("the load balancer is not used after the repair: %v", warningsByObject(r))
				}
			})
		})
	}
}
