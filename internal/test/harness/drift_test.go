package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// externalActor changes AWS as another user would. Its methods change resources of the Ingress in newSettledShop.
type externalActor struct {
	t   *testing.T
	ctx context.Context
	r   *Harness
	elb *elb.Client
	ec2 *ec2.Client
	waf *wafv2.Client
}

func newExternalActor(t *testing.T, r *Harness) externalActor {
	cfg := AWSConfig(r.Emulator)
	return externalActor{t, t.Context(), r, elb.NewFromConfig(cfg), ec2.NewFromConfig(cfg), wafv2.NewFromConfig(cfg)}
}

func (s externalActor) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s externalActor) loadBalancer() elbtypes.LoadBalancer {
	out, err := s.elb.DescribeLoadBalancers(s.ctx, &elb.DescribeLoadBalancersInput{})
	s.must(err)
	if len(out.LoadBalancers) == 0 {
		s.t.Fatal("no load balancer")
	}
	return out.LoadBalancers[0]
}

// listeners returns the listeners of the load balancer, sorted by port.
func (s externalActor) listeners() []elbtypes.Listener {
	out, err := s.elb.DescribeListeners(s.ctx, &elb.DescribeListenersInput{LoadBalancerArn: s.loadBalancer().LoadBalancerArn})
	s.must(err)
	slices.SortFunc(out.Listeners, func(a, b elbtypes.Listener) int { return int(*a.Port) - int(*b.Port) })
	return out.Listeners
}

// rules returns the rules of the listener on port 80 without the default rule, sorted by the text of their priority.
func (s externalActor) rules() []elbtypes.Rule {
	out, err := s.elb.DescribeRules(s.ctx, &elb.DescribeRulesInput{ListenerArn: s.listeners()[0].ListenerArn})
	s.must(err)
	rules := slices.DeleteFunc(out.Rules, func(r elbtypes.Rule) bool { return aws.ToBool(r.IsDefault) })
	slices.SortFunc(rules, func(a, b elbtypes.Rule) int { return strings.Compare(*a.Priority, *b.Priority) })
	return rules
}

// targetGroup returns the ARN of the target group of a Service in namespace "shop".
func (s externalActor) targetGroup(service string) string {
	out, err := s.elb.DescribeTargetGroups(s.ctx, &elb.DescribeTargetGroupsInput{})
	s.must(err)
	for _, g := range out.TargetGroups {
		if strings.HasPrefix(*g.TargetGroupName, "k8s-shop-"+service+"-") {
			return *g.TargetGroupArn
		}
	}
	s.t.Fatal("no target group of ", service)
	return ""
}

// securityGroup returns the first security group whose name contains the given text.
func (s externalActor) securityGroup(name string) ec2types.SecurityGroup {
	out, err := s.ec2.DescribeSecurityGroups(s.ctx, &ec2.DescribeSecurityGroupsInput{})
	s.must(err)
	for _, g := range out.SecurityGroups {
		if strings.Contains(*g.GroupName, name) {
			return g
		}
	}
	s.t.Fatal("no security group ", name)
	return ec2types.SecurityGroup{}
}

func (s externalActor) revokeAll(name string) {
	g := s.securityGroup(name)
	_, err := s.ec2.RevokeSecurityGroupIngress(s.ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: g.GroupId, IpPermissions: g.IpPermissions})
	s.must(err)
}

func (s externalActor) deleteLoadBalancer() {
	_, err := s.elb.DeleteLoadBalancer(s.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: s.loadBalancer().LoadBalancerArn})
	s.must(err)
}

func (s externalActor) deleteListener(i int) {
	_, err := s.elb.DeleteListener(s.ctx, &elb.DeleteListenerInput{ListenerArn: s.listeners()[i].ListenerArn})
	s.must(err)
}

func (s externalActor) deleteRules(n int) {
	for _, r := range s.rules()[:n] {
		_, err := s.elb.DeleteRule(s.ctx, &elb.DeleteRuleInput{RuleArn: r.RuleArn})
		s.must(err)
	}
}

// deleteTargetGroup deletes the rules that forward to the target group of a Service, and then the target group.
func (s externalActor) deleteTargetGroup(service string) {
	arn := s.targetGroup(service)
	for _, l := range s.listeners() {
		out, err := s.elb.DescribeRules(s.ctx, &elb.DescribeRulesInput{ListenerArn: l.ListenerArn})
		s.must(err)
		for _, r := range out.Rules {
			if aws.ToString(r.Actions[0].TargetGroupArn) == arn {
				_, err := s.elb.DeleteRule(s.ctx, &elb.DeleteRuleInput{RuleArn: r.RuleArn})
				s.must(err)
			}
		}
	}
	_, err := s.elb.DeleteTargetGroup(s.ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: &arn})
	s.must(err)
}

func (s externalActor) tag(arn, key, value string) {
	_, err := s.elb.AddTags(s.ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: []elbtypes.Tag{{Key: &key, Value: &value}}})
	s.must(err)
}

// drifts are changes that users make in AWS to the load balancer of newSettledShop, by description.
var drifts = map[string]func(s externalActor){
	"load balancer deleted": externalActor.deleteLoadBalancer,
	"listener deleted":      func(s externalActor) { s.deleteListener(0) },
	"listener with a certificate deleted": func(s externalActor) {
		s.deleteListener(1)
	},
	"rule deleted":         func(s externalActor) { s.deleteRules(1) },
	"all rules deleted":    func(s externalActor) { s.deleteRules(3) },
	"target group deleted": func(s externalActor) { s.deleteTargetGroup("api") },
	"rule answers something else": func(s externalActor) {
		_, err := s.elb.ModifyRule(s.ctx, &elb.ModifyRuleInput{RuleArn: s.rules()[0].RuleArn, Actions: []elbtypes.Action{{
			Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("418")},
		}}})
		s.must(err)
	},
	"rule added": func(s externalActor) {
		_, err := s.elb.CreateRule(s.ctx, &elb.CreateRuleInput{
			ListenerArn: s.listeners()[0].ListenerArn, Priority: aws.Int32(40000),
			Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/other"}}},
			Actions: []elbtypes.Action{{
				Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("418")},
			}},
		})
		s.must(err)
	},
	"listener added": func(s externalActor) {
		_, err := s.elb.CreateListener(s.ctx, &elb.CreateListenerInput{
			LoadBalancerArn: s.loadBalancer().LoadBalancerArn, Port: aws.Int32(8081), Protocol: elbtypes.ProtocolEnumHttp,
			DefaultActions: []elbtypes.Action{{
				Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("418")},
			}},
		})
		s.must(err)
	},
	"source added to the managed security group": func(s externalActor) {
		_, err := s.ec2.AuthorizeSecurityGroupIngress(s.ctx, &ec2.AuthorizeSecurityGroupIngressInput{
			GroupId: s.securityGroup("k8s-shop-web").GroupId, IpPermissions: []ec2types.IpPermission{{
				IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22), IpRanges: []ec2types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}},
			}},
		})
		s.must(err)
	},
	"certificate removed": func(s externalActor) {
		_, err := s.elb.RemoveListenerCertificates(s.ctx, &elb.RemoveListenerCertificatesInput{
			ListenerArn: s.listeners()[1].ListenerArn, Certificates: []elbtypes.Certificate{{CertificateArn: aws.String(s.r.Seeded.Certs["app.test"])}},
		})
		s.must(err)
	},
	"managed security group emptied": func(s externalActor) { s.revokeAll("k8s-shop-web") },
	"rule of the nodes' security group revoked": func(s externalActor) {
		s.revokeAll("nodes")
	},
	"attribute of the load balancer changed": func(s externalActor) {
		_, err := s.elb.ModifyLoadBalancerAttributes(s.ctx, &elb.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: s.loadBalancer().LoadBalancerArn, Attributes: []elbtypes.LoadBalancerAttribute{{Key: aws.String("idle_timeout.timeout_seconds"), Value: aws.String("1")}},
		})
		s.must(err)
	},
	"attribute of a listener changed": func(s externalActor) {
		_, err := s.elb.ModifyListenerAttributes(s.ctx, &elb.ModifyListenerAttributesInput{
			ListenerArn: s.listeners()[0].ListenerArn, Attributes: []elbtypes.ListenerAttribute{{Key: aws.String("routing.http.response.server.enabled"), Value: aws.String("true")}},
		})
		s.must(err)
	},
	"attribute of a target group changed": func(s externalActor) {
		_, err := s.elb.ModifyTargetGroupAttributes(s.ctx, &elb.ModifyTargetGroupAttributesInput{
			TargetGroupArn: aws.String(s.targetGroup("web")), Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("1")}},
		})
		s.must(err)
	},
	"health check changed": func(s externalActor) {
		_, err := s.elb.ModifyTargetGroup(s.ctx, &elb.ModifyTargetGroupInput{TargetGroupArn: aws.String(s.targetGroup("web")), HealthCheckPath: aws.String("/other")})
		s.must(err)
	},
	"address type changed": func(s externalActor) {
		_, err := s.elb.SetIpAddressType(s.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: s.loadBalancer().LoadBalancerArn, IpAddressType: elbtypes.IpAddressTypeDualstack})
		s.must(err)
	},
	"capacity taken back": func(s externalActor) {
		_, err := s.elb.ModifyCapacityReservation(s.ctx, &elb.ModifyCapacityReservationInput{LoadBalancerArn: s.loadBalancer().LoadBalancerArn, ResetCapacityReservation: aws.Bool(true)})
		s.must(err)
	},
	"web ACL taken off": func(s externalActor) {
		_, err := s.waf.DisassociateWebACL(s.ctx, &wafv2.DisassociateWebACLInput{ResourceArn: s.loadBalancer().LoadBalancerArn})
		s.must(err)
	},
	"tag of the load balancer changed": func(s externalActor) { s.tag(*s.loadBalancer().LoadBalancerArn, "team", "other") },
	"tag of a target group changed":    func(s externalActor) { s.tag(s.targetGroup("web"), "team", "other") },
	"tag of a listener changed":        func(s externalActor) { s.tag(*s.listeners()[0].ListenerArn, "team", "other") },
	"tag of a rule changed":            func(s externalActor) { s.tag(*s.rules()[0].RuleArn, "team", "other") },
	"tag of the security group changed": func(s externalActor) {
		_, err := s.ec2.CreateTags(s.ctx, &ec2.CreateTagsInput{Resources: []string{*s.securityGroup("k8s-shop-web").GroupId}, Tags: []ec2types.Tag{{Key: aws.String("team"), Value: aws.String("other")}}})
		s.must(err)
	},
	"target deregistered": func(s externalActor) {
		_, err := s.elb.DeregisterTargets(s.ctx, &elb.DeregisterTargetsInput{
			TargetGroupArn: aws.String(s.targetGroup("web")), Targets: []elbtypes.TargetDescription{{Id: &podAddresses[0], Port: aws.Int32(8080)}},
		})
		s.must(err)
	},
	"target without a pod registered": func(s externalActor) {
		_, err := s.elb.RegisterTargets(s.ctx, &elb.RegisterTargetsInput{
			TargetGroupArn: aws.String(s.targetGroup("web")), Targets: []elbtypes.TargetDescription{{Id: aws.String("10.0.164.200"), Port: aws.Int32(8080)}},
		})
		s.must(err)
	},
}

// fullIngress returns an Ingress whose load balancer has resources and settings of every kind.
func fullIngress(r *Harness, paths ...string) string {
	return webIngress(ingressAnnotations(
		"listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"]+","+r.Seeded.Certs["app.test"],
		"tags", "team=shop", "wafv2-acl-arn", r.Seeded.WebACL, "minimum-load-balancer-capacity", "CapacityUnits=500", "ip-address-type", "ipv4",
		"load-balancer-attributes", "idle_timeout.timeout_seconds=77", "target-group-attributes", "deregistration_delay.timeout_seconds=33",
		"listener-attributes.HTTP-80", "routing.http.response.server.enabled=false",
	), paths...)
}

// advanceTime runs the controller until the duration d is over.
func (r *Harness) advanceTime(d time.Duration) {
	end := time.Now().Add(d)
	r.runFor(d)
	time.Sleep(time.Until(end))
}

// newSettledShop returns a harness with an Ingress whose load balancer is complete and was recently compared with AWS.
func newSettledShop(t *testing.T, opt Options) *Harness {
	t.Helper()
	r := shopWith(t, opt)
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:5]...), fullIngress(r, "/=web", "/api=api", "/v2=api"))
	r.advanceTime(4 * time.Minute)
	return r
}

// fullState returns State together with the web ACL, the Shield protections and the reserved capacity, which State
// omits.
func (r *Harness) fullState() []string {
	return append(r.State(), "tied to "+attachedAddons(r), fmt.Sprint("capacity ", reservedCapacity(r)))
}

// ingressStatusHostname returns the hostname in the status of the only Ingress, or "".
func ingressStatusHostname(r *Harness) string {
	ing := r.Store.All(cluster.KindIngress)[0].(*networkingv1.Ingress)
	if len(ing.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	return ing.Status.LoadBalancer.Ingress[0].Hostname
}

// forEachDrift runs test as a subtest for every nth kind of drift.
func forEachDrift(t *testing.T, n int, test func(t *testing.T, drift func(externalActor))) {
	for _, name := range seeds.SpreadKeys(n, drifts) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, drifts[name]) }) })
	}
}

// TestDriftIsRepairedWithinTheSyncPeriod checks that drift is reverted within one sync period.
func TestDriftIsRepairedWithinTheSyncPeriod(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]Options{
		"30s":                             {Resync: 30 * time.Second},
		"10h, the default":                {},
		"30s, in the controller's queues": {Resync: 30 * time.Second, Workers: 3, Checkpoints: true},
	} {
		if opt.Resync != 0 && opt.Workers == 0 && !seeds.Long() {
			continue // the case with queues covers the same runs
		}
		period := opt.Resync
		if period == 0 {
			period = 10 * time.Hour
		}
		t.Run(name, func(t *testing.T) {
			every := 1
			if opt.Workers > 0 {
				every = 3 // the comparisons are the same as without queues
			}
			forEachDrift(t, every, func(t *testing.T, drift func(externalActor)) {
				r := newSettledShop(t, opt)
				clean := r.fullState()
				r.advanceTime(period / 3)
				drift(newExternalActor(t, r))
				if cmp.Equal(clean, r.fullState()) {
					t.Fatal("nothing has changed")
				}
				r.advanceTime(period)
				r.advanceTime(15 * time.Second) // recreated targets must become healthy, and calls wait for the rate limiter
				if isRecreated(r) {
					r.advanceTime(3 * time.Minute)
				}
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

// TestComparisonCostsFewCalls checks that a comparison of one load balancer makes at most 25 calls, and no mutating
// call without drift.
func TestComparisonCostsFewCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSettledShop(t, Options{})
		r.Emulator.Calls().Reset()
		r.advanceTime(10 * time.Hour)
		logCalls(t, r, "a sync period", 1)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d mutating calls", n)
		}
		// The calls are 3 for lists, 2 for tags, 3 for listeners and rules, 4 for attributes, 2 for target health, 2
		// for nodes, and those for certificates, capacity and the web ACL.
		if n := r.Emulator.Calls().Total(); n > 25 {
			t.Errorf("%d calls: %v", n, r.Emulator.Calls().Counts())
		}
	})
}

// TestDriftWhileNoControllerRunsIsRepairedWithinTheSyncPeriod checks that a start with checkpoints makes no calls in
// the first minute, and that drift that occurred while no controller ran is still reverted within the sync period.
func TestDriftWhileNoControllerRunsIsRepairedWithinTheSyncPeriod(t *testing.T) {
	t.Parallel()
	forEachDrift(t, 3, func(t *testing.T, drift func(externalActor)) {
		r := newSettledShop(t, Options{Resync: 5 * time.Minute, Checkpoints: true})
		clean := r.fullState()
		r.process.saveCheckpoints()
		r.Kill()
		drift(newExternalActor(t, r))
		r.Emulator.Calls().Reset()
		r.Start()
		r.advanceTime(50 * time.Second)
		if n := r.Emulator.Calls().Total(); n > 0 {
			t.Errorf("%d calls in the first minute: %v", n, r.Emulator.Calls().Counts())
		}
		r.advanceTime(5 * time.Minute)
		if isRecreated(r) {
			r.advanceTime(3 * time.Minute)
		}
		if diff := cmp.Diff(clean, r.fullState()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// isRecreated reports whether the load balancer was created in the last ten minutes. Its capacity is reserved only
// after it becomes active.
func isRecreated(r *Harness) bool {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		return time.Since(lb.Created) < 10*time.Minute
	}
	return false
}

// countSuccessEvents returns how often the event SuccessfullyReconciled was emitted for Ingresses.
func countSuccessEvents(r *Harness) (n int) {
	for _, o := range r.Store.All("Event") {
		if e := o.(*corev1.Event); e.Reason == "SuccessfullyReconciled" && e.InvolvedObject.Kind == "Ingress" {
			n += int(max(e.Count, 1))
		}
	}
	return n
}

// TestSuccessEventFollowsComparisonWithAWS checks that, after drift and an edit of the Ingress, the event
// SuccessfullyReconciled is emitted only when the load balancer matches the Ingress.
func TestSuccessEventFollowsComparisonWithAWS(t *testing.T) {
	t.Parallel()
	forEachDrift(t, 3, func(t *testing.T, drift func(externalActor)) {
		r := newSettledShop(t, Options{})
		r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api", "/v3=web"))
		r.advanceTime(time.Minute)
		want := r.fullState()
		r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api"))
		r.advanceTime(time.Minute)
		drift(newExternalActor(t, r))
		before := countSuccessEvents(r)
		r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api", "/v3=web"))
		for range 600 {
			r.advanceTime(time.Second)
			if countSuccessEvents(r) > before {
				break
			}
		}
		if countSuccessEvents(r) == before {
			t.Error("no success is reported")
		}
		got := r.fullState()
		without := func(state []string) []string {
			return slices.DeleteFunc(slices.Clone(state), func(l string) bool {
				// Targets and rules of node security groups belong to TargetGroupBindings. Tags are compared once per
				// sync period.
				return strings.HasPrefix(l, "target-group") || strings.Contains(l, `"nodes"`)
			})
		}
		if diff := cmp.Diff(without(withoutTagValue(want)), without(withoutTagValue(got))); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// withoutTagValue restores the tag value that some drifts change.
func withoutTagValue(state []string) []string {
	out := slices.Clone(state)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], `"team":"other"`, `"team":"shop"`)
	}
	return out
}

// TestRepeatedDriftIsReported checks that a rule that a user deletes repeatedly is created again each time, and that
// an event reports this from the fifth time.
func TestRepeatedDriftIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSettledShop(t, Options{Resync: 5 * time.Minute})
		clean := r.fullState()
		for n := range 6 {
			newExternalActor(t, r).deleteRules(1)
			r.advanceTime(5 * time.Minute)
			if diff := cmp.Diff(clean, r.fullState()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			reported := strings.Contains(strings.Join(warningsByObject(r)["web"], "\n"), "ChangeNotKept")
			if want := n >= 4; reported != want {
				t.Errorf("after %d times: reported %t, want %t", n+1, reported, want)
			}
		}
	})
}
