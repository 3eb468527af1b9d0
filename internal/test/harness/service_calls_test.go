package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// serviceWithTwoPorts returns YAML of a Service with an NLB and the ports 80 and 443.
func serviceWithTwoPorts(name string) string {
	return strings.Replace(nlbService(name, ipTargets, "{name: a, port: 80, targetPort: 8080}, {name: b, port: 443, targetPort: 8080}"), "22222222-0000-4000-8000-000000000001", "uid-"+name, 1)
}

// podsWithTwoPorts returns YAML of pods that serve both ports of serviceWithTwoPorts.
func podsWithTwoPorts(name string, addresses ...string) string {
	return strings.Replace(readyPods(name, addresses...), `{name: "", port: 8080, protocol: TCP}`, "{name: a, port: 8080, protocol: TCP}, {name: b, port: 8080, protocol: TCP}", 1)
}

// callReasons has the reason for each call that a Service with two ports causes, by operation. floor is the minimum
// number of calls for each Service. It is 0 if one call can handle several Services.
var callReasons = map[string]struct {
	floor int
	why   string
}{
	"ec2:CreateSecurityGroup":                            {1, "the load balancer's own group; the first Service of a cluster makes the shared one too"},
	"ec2:AuthorizeSecurityGroupIngress":                  {1, "clients of both ports; the first Service on a node opens its ports too"},
	"ec2:DescribeSecurityGroups":                         {0, "once for all: which groups there are, and the rules of nodes"},
	"ec2:DescribeSubnets":                                {0, "once for all: where load balancers can be"},
	"ec2:DescribeAvailabilityZones":                      {0, "once for all: what kind of zones these are"},
	"ec2:DescribeInstances":                              {0, "once for all: the network interfaces of nodes"},
	"ec2:DescribeNetworkInterfaces":                      {0, "once for all: the network interfaces of pods"},
	"ec2:DescribeVpcs":                                   {0, "once for all: the ranges of the VPC"},
	"elasticloadbalancing:CreateLoadBalancer":            {1, "the load balancer"},
	"elasticloadbalancing:CreateTargetGroup":             {2, "one for each port"},
	"elasticloadbalancing:ModifyTargetGroupAttributes":   {2, "proxy protocol off, in each target group: CreateTargetGroup takes no attributes"},
	"elasticloadbalancing:CreateListener":                {2, "one for each port"},
	"elasticloadbalancing:RegisterTargets":               {2, "one for each target group"},
	"elasticloadbalancing:DescribeTargetHealth":          {0, "targets are looked at until they are healthy"},
	"elasticloadbalancing:DescribeLoadBalancers":         {0, "once for all: which there are"},
	"elasticloadbalancing:DescribeTargetGroups":          {0, "once for all: which there are, and whose names are taken"},
	"elasticloadbalancing:DescribeTags":                  {0, "once for twenty: whose they are"},
	"elasticloadbalancing:DescribeTargetGroupAttributes": {0, "to compare attributes"},
	"elasticloadbalancing:DescribeListeners":             {0, "to compare listeners"},
}

// TestServiceCalls checks the number of AWS calls for Services with two ports. Each operation has a reason in
// callReasons. There are limits for the calls to create many Services, to replace a pod, for a pass without changes and
// for a restart.
func TestServiceCalls(t *testing.T) {
	t.Parallel()
	floor := 0
	for _, r := range callReasons {
		floor += r.floor
	}
	for _, n := range []int{1, 50} {
		t.Run(fmt.Sprintf("%d Services", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{})
				for i := range n {
					if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], fmt.Sprintf("10.0.133.%d", i+1)); err != nil {
						t.Fatal(err)
					}
					r.Apply(podsWithTwoPorts(fmt.Sprintf("mail%d", i), fmt.Sprintf("10.0.133.%d", i+1)))
				}
				r.Emulator.Calls().Reset()
				for i := range n {
					r.Apply(serviceWithTwoPorts(fmt.Sprintf("mail%d", i)))
				}
				if failed := r.Settle(10 * time.Minute); len(failed) > 0 {
					t.Fatal(failed)
				}
				counts := r.Emulator.Calls().Counts()
				for _, op := range slices.Sorted(maps.Keys(counts)) {
					t.Logf("  %4d %s: %s", counts[op], op, callReasons[op].why)
					if callReasons[op].why == "" {
						t.Errorf("no reason is known for %s", op)
					}
				}
				each := float64(r.Emulator.Calls().Total()) / float64(n)
				t.Logf("BENCH %d Services with two ports created together: %.1f calls for each, of which %.1f change something; floor %d", n, each, float64(r.Emulator.Calls().CountMutating())/float64(n), floor)
				if limit := float64(floor + 2); n > 1 && each > limit {
					t.Errorf("creation takes %.1f calls for each Service, the budget is %.0f", each, limit)
				}
				r.Emulator.Calls().Reset()
				r.process.enqueueExistingObjects()
				r.Settle(time.Minute)
				t.Logf("BENCH a pass over %d Services without change: %d calls, goal 0", n, r.Emulator.Calls().Total())
				if total := r.Emulator.Calls().Total(); total > 0 {
					t.Errorf("a pass without change takes %d calls: %v", total, r.Emulator.Calls().Counts())
				}
				if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], "10.0.133.200"); err != nil {
					t.Fatal(err)
				}
				r.Emulator.Calls().Reset()
				r.Apply(podsWithTwoPorts("mail0", "10.0.133.200"))
				r.Settle(10 * time.Minute)
				logCalls(t, r, "a pod replaced", 1)
				t.Logf("BENCH one pod of a Service with two ports replaced: %d calls, of which %d change something; floor 4, in and out of two target groups", r.Emulator.Calls().Total(), r.Emulator.Calls().CountMutating())
				if m := r.Emulator.Calls().CountMutating(); m != 4 {
					t.Errorf("a replaced pod takes %d changes", m)
				}
				r.Emulator.Calls().Reset()
				r.Start()
				r.Settle(time.Minute)
				logCalls(t, r, "the first minute after a restart", n)
				if m := r.Emulator.Calls().CountMutating(); m > 0 {
					t.Errorf("a restart makes %d mutating calls", m)
				}
			})
		})
	}
}

// TestServiceRestart checks that a restart with many Services makes few calls, and that an edit and a new pod in the
// first minute take effect within five seconds.
func TestServiceRestart(t *testing.T) {
	t.Parallel()
	n := measurementSize(300, 60)
	synctest.Test(t, func(t *testing.T) {
		free := true
		r := New(t, Options{Workers: 3, Checkpoints: true, Cloud: func(c *cloud.Config) {
			if free {
				c.TokenBuckets = []ratelimit.TokenBucket{}
			}
		}})
		r.Emulator.Store().Lock()
		for _, quota := range []string{"network-load-balancers", "security-groups-per-region", "network-load-balancer-enis-per-vpc"} {
			r.Emulator.Store().Config.Quotas[quota] = 5000
		}
		r.Emulator.Store().Unlock()
		r.Apply(shop)
		var all []string
		for i := range n {
			all = append(all, podAddress(i))
		}
		if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], all...); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			r.Apply(podsWithTwoPorts(fmt.Sprintf("mail%d", i), podAddress(i)), serviceWithTwoPorts(fmt.Sprintf("mail%d", i)))
		}
		r.runFor(15 * time.Minute)
		if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[1], newPodAddress); err != nil {
			t.Fatal(err)
		}
		free = false
		r.Emulator.Faults().SetLimits(fault.DocumentedLimits(1))
		r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
		r.Emulator.Calls().Reset()
		r.Start()
		time.Sleep(20 * time.Second)
		if total := r.Emulator.Calls().Total(); total > 0 {
			logCalls(t, r, "before anything changes", n)
			t.Errorf("a start makes %d calls before anything changes", total)
		}
		edited := time.Now()
		r.Apply(strings.Replace(serviceWithTwoPorts("mail7"), "annotations: {", `annotations: {service.beta.kubernetes.io/aws-load-balancer-attributes: "load_balancing.cross_zone.enabled=true", `, 1))
		time.Sleep(10 * time.Second)
		changed := time.Now()
		r.Apply(podsWithTwoPorts("mail9", podAddress(9), newPodAddress))
		time.Sleep(30 * time.Second)
		edit, pod := r.timeUntilResponse("ModifyLoadBalancerAttributes", edited), r.timeUntilResponse("RegisterTargets", changed)
		total := r.Emulator.Calls().Total()
		logCalls(t, r, "the first minute after a restart", n)
		t.Logf("BENCH restart over %d Services, calls in the first minute: %d; an edit right after: %v, a new pod: %v, goal 5s", n, total, edit, pod)
		if edit < 0 || edit > 5*time.Second || pod < 0 || pod > 5*time.Second {
			t.Error("the edit or the new pod takes effect too late")
		}
		if limit := 20 + (3*n+19)/20; total > limit {
			t.Errorf("%d calls in the first minute, the budget is %d", total, limit)
		}
		r.Emulator.Calls().Reset()
		time.Sleep(45 * time.Minute)
		logCalls(t, r, "the rest of the slow ones", n)
		if m := r.Emulator.Calls().CountMutating(); m > 0 {
			t.Errorf("a restart makes %d mutating calls", m)
		}
	})
}
