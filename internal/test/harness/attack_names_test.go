package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// The tests in this file cover attacks by a tenant with names and tags.

// manyTags returns n tags as "prefix0=v,prefix1=v".
func manyTags(prefix string, n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s%d=v", prefix, i))
	}
	return strings.Join(out, ",")
}

// tagsOf returns the tags of the only load balancer.
func tagsOf(t *testing.T, r *Harness) map[string]string {
	t.Helper()
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		return lb.Tags
	}
	t.Fatal("no load balancer")
	return nil
}

// TestTooManyTagsOfOneMemberDoNotBlockOthers checks that members with more than the 50 tags that AWS allows on a resource
// do not block the tags of other members, on an existing or on a new load balancer. AWS refuses all tags of a call
// that exceeds the limit.
func TestTooManyTagsOfOneMemberDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	for name, hostile := range map[string][]string{
		"one Ingress":     {ingressInNamespace("team", "many0", "alb", "team.example.com", "", "group.name", "edge", "group.order", "-1000", "tags", manyTags("k", 90), "listen-ports", `[{"HTTP":80},{"HTTP":81}]`)},
		"three Ingresses": {ingressInNamespace("team", "many0", "alb", "team.example.com", "", "group.name", "edge", "group.order", "-1000", "tags", manyTags("a", 30)), ingressInNamespace("team", "many1", "alb", "team.example.com", "", "group.name", "edge", "tags", manyTags("b", 30)), ingressInNamespace("team", "many2", "alb", "team.example.com", "", "group.name", "edge", "tags", manyTags("c", 30))},
	} {
		for _, live := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, live %v", name, live), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
					if live {
						settleWithoutErrors(t, r)
					}
					r.Apply(hostile...)
					settleWithoutErrors(t, r)
					r.Apply(ingressInNamespace("shop", "a", "alb", "a.example.com", "", "group.name", "edge", "scheme", "internal", "inbound-cidrs", "10.0.0.0/8", "wafv2-acl-name", "rig",
						"tags", "Team=shop,Cost=1", "listen-ports", `[{"HTTP":80},{"HTTP":8080}]`))
					settleWithoutErrors(t, r)
					if tags := tagsOf(t, r); tags["Team"] != "shop" || tags["Cost"] != "1" || len(tags) > 50 {
						t.Errorf("the victim's tags are not there: %v", tags)
					}
					if !slices.ContainsFunc(stateOfKinds(r, "listener"), func(l string) bool { return strings.Contains(l, ",8080,") }) {
						t.Error("the victim's new port is not there")
					}
					for n, w := range warningsByObject(r) {
						if n == "a" || n == "b" {
							t.Errorf("warnings on victim %s: %q", n, w)
						}
					}
					if w := fmt.Sprint(warningsByObject(r)); !strings.Contains(w, "TagInvalid: alb.ingress.kubernetes.io/tags: there are ") {
						t.Errorf("no event reports the number of tags: %s", w)
					}
				})
			})
		}
	}
}

// TestReservedTagsCannotBeSetByUsers checks that users cannot set the tags by which the controller, AWS or the
// operator identifies owners.
func TestReservedTagsCannotBeSetByUsers(t *testing.T) {
	t.Parallel()
	const forged = "elbv2.k8s.aws/cluster=other,ingress.k8s.aws/stack=shop/web,ingress.k8s.aws/resource=LoadBalancer,service.k8s.aws/stack=x,gateway.k8s.aws.alb/stack=y,elbv2.k8s.aws/resource=backend-sg,aws:cloudformation:stack-name=z,AWS:x=y,owner=platform,Team=team"
	params := `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: theirs}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: theirs}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: theirs}
spec: {tags: [`
	for _, pair := range strings.Split(forged, ",") {
		k, v, _ := strings.Cut(pair, "=")
		params += fmt.Sprintf("{key: %q, value: %q},", k, v)
	}
	params += "]}\n"
	service := fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team, uid: 22222222-0000-4000-8000-000000000001, annotations: {%stags: %q}}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30099}]}
`, annotationPrefix, forged)
	for name, docs := range map[string][]string{
		"Ingress":            {ingressInNamespace("team", "forger", "alb", "team.example.com", "", "tags", forged)},
		"frontend NLB":       {ingressInNamespace("team", "forger", "alb", "team.example.com", "", "enable-frontend-nlb", "true", "frontend-nlb-tags", forged)},
		"Service":            {service, ingressInNamespace("team", "forger", "alb", "team.example.com", "")},
		"IngressClassParams": {params, ingressInNamespace("team", "forger", "theirs", "team.example.com", "")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.ExternalTags = []string{"owner"} }})
				r.Apply(shop, teamShop)
				r.Apply(docs...)
				r.Settle(attackSettleTime)
				team := 0
				for _, l := range stateOfKinds(r, "load-balancer", "listener", "rule", "target-group", "security-group") {
					if !strings.Contains(l, `"elbv2.k8s.aws/cluster"`) {
						continue
					}
					if !strings.Contains(l, `"elbv2.k8s.aws/cluster":"rig"`) || !strings.Contains(l, "k8s-traffic") && !strings.Contains(l, `"ingress.k8s.aws/stack":"team/forger"`) ||
						strings.Contains(l, "service.k8s.aws") || strings.Contains(l, "gateway.k8s.aws") || strings.Contains(l, "cloudformation") || strings.Contains(l, `AWS:x`) || strings.Contains(l, `"owner"`) ||
						strings.Contains(l, `"elbv2.k8s.aws/resource"`) && !strings.Contains(l, "k8s-traffic") {
						t.Errorf("forged: %s", l)
					}
					if strings.Contains(l, `"Team":"team"`) {
						team++
					}
				}
				if team == 0 {
					t.Error("no resource has the permitted tag Team, so nothing was tested")
				}
			})
		})
	}
}

// TestNameOfForeignLoadBalancerGivesNoAccess checks that a load balancer of another tenant or another cluster is not
// changed when a member requests its name, whatever its tags are.
func TestNameOfForeignLoadBalancerGivesNoAccess(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"alone", "in an IngressGroup", "as the group's name"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
				settleWithoutErrors(t, r)
				api := elb.NewFromConfig(AWSConfig(r.Emulator))
				made, err := api.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
					Name: aws.String("by-hand"), Subnets: r.Seeded.Private, Scheme: elbtypes.LoadBalancerSchemeEnumInternal,
					Tags: []elbtypes.Tag{{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String("other")}, {Key: aws.String("ingress.k8s.aws/stack"), Value: aws.String("team/thief")}, {Key: aws.String("ingress.k8s.aws/resource"), Value: aws.String("LoadBalancer")}},
				})
				if err != nil {
					t.Fatal(err)
				}
				before := stateOfKinds(r, "load-balancer", "listener", "rule")
				var edge string
				for _, l := range stateOfKinds(r, "load-balancer") {
					if name, _, _ := strings.Cut(strings.TrimPrefix(l, `load-balancer ["`), `"`); name != "by-hand" {
						edge = name
					}
				}
				for _, name := range []string{edge, aws.ToString(made.LoadBalancers[0].LoadBalancerName)} {
					notes := []string{"load-balancer-name", name}
					switch where {
					case "in an IngressGroup":
						notes = append(notes, "group.name", "theirs")
					case "as the group's name":
						notes = []string{"group.name", strings.TrimPrefix(name, "k8s-")}
					}
					r.Apply(ingressInNamespace("team", "thief", "alb", "a.example.com", "", notes...))
					r.Settle(attackSettleTime)
					after := slices.DeleteFunc(stateOfKinds(r, "load-balancer", "listener", "rule"), func(l string) bool { return !slices.Contains(before, l) })
					if d := cmp.Diff(before, after); d != "" {
						t.Errorf("resources of others were changed (-before +after):\n%s", d)
					}
					deleteIngress(t, r, "team", "thief")
					r.Settle(attackSettleTime)
					after = slices.DeleteFunc(stateOfKinds(r, "load-balancer", "listener", "rule"), func(l string) bool { return !slices.Contains(before, l) })
					if d := cmp.Diff(before, after); d != "" {
						t.Errorf("resources of others were changed by the deletion (-before +after):\n%s", d)
					}
				}
			})
		})
	}
}

// TestTenantOfAnotherClusterCannotForgeOwnership checks that the controller leaves a load balancer of another cluster alone,
// although a tenant there has given it the tag by which the first generation of controllers named this cluster, and its
// Ingress has the namespace and name of an Ingress here.
func TestTenantOfAnotherClusterCannotForgeOwnership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		if _, err := elb.NewFromConfig(AWSConfig(r.Emulator)).CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
			Name: aws.String("theirs"), Subnets: r.Seeded.Public, Scheme: elbtypes.LoadBalancerSchemeEnumInternetFacing,
			Tags: []elbtypes.Tag{
				{Key: aws.String("elbv2.k8s.aws/cluster"), Value: aws.String("other")}, {Key: aws.String("ingress.k8s.aws/cluster"), Value: aws.String(ClusterName)},
				{Key: aws.String("ingress.k8s.aws/stack"), Value: aws.String("shop/web")}, {Key: aws.String("ingress.k8s.aws/resource"), Value: aws.String("LoadBalancer")},
			},
		}); err != nil {
			t.Fatal(err)
		}
		before := stateOfKinds(r, "load-balancer")
		r.Apply(shop, ingressInNamespace("shop", "web", "alb", "a.example.com", ""))
		settleWithoutErrors(t, r)
		deleteIngress(t, r, "shop", "web")
		r.Settle(attackSettleTime)
		if d := cmp.Diff(before, stateOfKinds(r, "load-balancer")); d != "" {
			t.Errorf("the load balancer of the other cluster was changed (-before +after):\n%s", d)
		}
	})
}

// TestForeignTargetGroupWithComputedNameIsNotUsed checks a target group that a user created with the name that the
// controller computes for a new target group. The controller registers no targets in it and does not delete it.
func TestForeignTargetGroupWithComputedNameIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		settleWithoutErrors(t, r)
		name := bindingsOf(r, "shop")[0].Name
		for _, n := range []string{"a", "b"} {
			deleteIngress(t, r, "shop", n)
		}
		settleWithoutErrors(t, r)
		api := elb.NewFromConfig(AWSConfig(r.Emulator))
		made, err := api.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
			Name: aws.String(name), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(8080), TargetType: elbtypes.TargetTypeEnumIp, VpcId: aws.String(r.Seeded.VPC),
		})
		if err != nil {
			t.Fatal(err)
		}
		arn := aws.ToString(made.TargetGroups[0].TargetGroupArn)
		r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
		r.Settle(attackSettleTime)
		expectEqual(t, "targets of the foreign target group", "", activeTargets(t, r, Account, arn))
		for _, b := range bindingsOf(r, "shop") {
			if b.Spec.TargetGroupARN == arn {
				t.Errorf("TargetGroupBinding %s registers targets in the foreign target group", b.Name)
			}
		}
		for _, n := range []string{"a", "b"} {
			deleteIngress(t, r, "shop", n)
		}
		r.Settle(attackSettleTime)
		if _, err := api.DescribeTargetGroups(t.Context(), &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}}); err != nil {
			t.Errorf("the foreign target group was deleted: %v", err)
		}
	})
}
