package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// listsSecurityGroupsByName reports whether input is that of a DescribeSecurityGroups call with a filter for the tag
// "Name".
func listsSecurityGroupsByName(input any) bool {
	in, ok := input.(*ec2.DescribeSecurityGroupsInput)
	return ok && slices.ContainsFunc(in.Filters, func(f ec2types.Filter) bool { return aws.ToString(f.Name) == "tag:Name" })
}

// TestNewMemberTakesNothingWhileReadFails checks a setting of a member that cannot be compared with AWS because a read
// fails. A new member with another value of the setting does not change it, neither during the failure nor afterwards.
// Its rules are served.
func TestNewMemberTakesNothingWhileReadFails(t *testing.T) {
	t.Parallel()
	cases := map[string]optionalRead{
		"web ACL": {
			service: "wafv2", operation: "ListWebACLs",
			annotationsBefore: map[string]string{"wafv2-acl-name": "rig"}, annotationsAfter: map[string]string{"wafv2-acl-arn": "none"},
		},
		"trust store": {
			service: "elasticloadbalancing", operation: "DescribeTrustStores",
			annotationsBefore: map[string]string{"mutual-authentication": `[{"port":443,"mode":"verify","trustStore":"old"}]`},
			annotationsAfter:  map[string]string{"mutual-authentication": `[{"port":443,"mode":"off"}]`},
		},
		"security groups": {
			service: "ec2", operation: "DescribeSecurityGroups", matchesCall: listsSecurityGroupsByName,
			annotationsBefore: map[string]string{"security-groups": "guard"}, annotationsAfter: map[string]string{"security-groups": "EXTRA"},
		},
		"attributes": {
			service: "elasticloadbalancing", operation: "DescribeLoadBalancerAttributes",
			annotationsBefore: map[string]string{"load-balancer-attributes": "idle_timeout.timeout_seconds=90"},
			annotationsAfter:  map[string]string{"load-balancer-attributes": "idle_timeout.timeout_seconds=10"},
		},
	}
	for name, u := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u.independentKinds = []string{"rule"} // the rules of the new member come first, so other priorities change
				r := newShop(t)
				r.createResourcesFor(u)
				_, err := ec2.NewFromConfig(AWSConfig(r.Emulator)).CreateTags(t.Context(), &ec2.CreateTagsInput{
					Resources: []string{r.Seeded.NodeSG}, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: aws.String("guard")}},
				})
				if err != nil {
					t.Fatal(err)
				}
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), r.ingressOfPair("first", "/", u.annotationsBefore))
				settleWithoutErrors(t, r)
				before := r.comparableState(u)
				r.Start()
				r.Emulator.Faults().SetHook(u.hook(fault.Action{Deny: true}))
				newcomer := strings.Replace(r.ingressOfPair("second", "/new", u.annotationsAfter), "group.name: team", "group.name: team, "+annotationPrefix+"group.order: '-1000'", 1)
				r.Apply(newcomer)
				r.Settle(time.Hour)
				if !isSecondMemberServed(r, "/new") {
					t.Errorf("the newcomer is not served: %v", warningsByObject(r))
				}
				same := func(when string) {
					var moved []string
					for _, l := range strings.Split(difference(before, r.comparableState(u)), "\n") {
						if !strings.Contains(l, "k8s-shop-api") && l != "" {
							moved = append(moved, l)
						}
					}
					if len(moved) > 0 {
						t.Errorf("%s:\n%s", when, strings.Join(moved, "\n"))
					}
				}
				same("the state while the setting cannot be compared")
				r.Emulator.Faults().SetHook(nil)
				settleWithoutErrors(t, r)
				same("the state after the setting can be compared again")
			})
		})
	}
}

// TestDisabledSharedSecurityGroupStaysWhileReadFails checks a load balancer with the shared backend security group after a
// restart with --enable-backend-security-group=false. It keeps the security group and the rules of its targets, also while
// the list of security groups cannot be read, and other changes take effect.
func TestDisabledSharedSecurityGroupStaysWhileReadFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disabled := false
		r := shopWith(t, Options{Ingress: func(o *ingress.Options) { o.NoBackendSecurityGroup = disabled }})
		u := optionalRead{service: "ec2", operation: "DescribeSecurityGroups", independentKinds: []string{"rule"}, matchesCall: func(input any) bool {
			in, ok := input.(*ec2.DescribeSecurityGroupsInput)
			return ok && slices.ContainsFunc(in.Filters, func(f ec2types.Filter) bool { return aws.ToString(f.Name) == "tag-key" })
		}}
		managed := map[string]string{"security-groups": "EXTRA", "manage-backend-security-group-rules": "true"}
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), r.ingressOfPair("first", "/", managed), r.ingressOfPair("second", "/old", nil))
		settleWithoutErrors(t, r)
		before := r.comparableState(u)
		if n := countBackendSecurityGroups(r); n != 1 {
			t.Fatalf("%d backend security groups", n)
		}
		disabled = true
		r.Start()
		r.Emulator.Faults().SetHook(u.hook(fault.Action{Deny: true}))
		r.Apply(r.ingressOfPair("second", "/new", nil))
		r.Settle(time.Hour)
		if !isSecondMemberServed(r, "/new") {
			t.Errorf("the second member is not served on its new path: %v", warningsByObject(r))
		}
		if n := failedCalls(r, u.operation); n == 0 {
			t.Error("no read has failed")
		}
		if after := r.comparableState(u); !slices.Equal(before, after) {
			t.Errorf("while the list cannot be read:\n%s", difference(before, after))
		}
		r.Emulator.Faults().SetHook(nil)
		settleWithoutErrors(t, r)
		if after := r.comparableState(u); !slices.Equal(before, after) {
			t.Errorf("after the list can be read again:\n%s", difference(before, after))
		}
	})
}

// TestDeletionWaitsForFailedReads checks that an Ingress keeps its finalizer as long as a failing read hides which
// resources remain, and is deleted when the read succeeds.
func TestDeletionWaitsForFailedReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		settleWithoutErrors(t, r)
		r.Start()
		r.Emulator.Faults().Add(fault.Rule{Service: "ec2", Operation: "DescribeSecurityGroups", Action: fault.Action{Deny: true}})
		ref := cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}
		if err := r.Store.Delete(ref); err != nil {
			t.Fatal(err)
		}
		r.Emulator.Calls().Reset()
		r.Settle(time.Hour)
		if w := warningsByObject(r)["web"]; !slices.ContainsFunc(w, func(m string) bool {
			return strings.Contains(m, "the finalizer is retained until everything is deleted; add ec2:DescribeSecurityGroups to the controller's IAM policy")
		}) {
			t.Errorf("warnings: %q", w)
		}
		if left := strings.Join(r.State(), "\n"); strings.Contains(left, "load-balancer ") || !strings.Contains(left, "security-group [\"k8s-shop-web") {
			t.Errorf("left after an hour:\n%s", left)
		}
		if n := failedCalls(r, "DescribeSecurityGroups"); n > 60 {
			t.Errorf("%d denied calls in an hour", n)
		}
		r.Emulator.Faults().ClearRules()
		settleWithoutErrors(t, r)
		if left := r.State(); slices.ContainsFunc(left, func(l string) bool { return strings.Contains(l, "k8s-") }) {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
		}
		if len(r.Store.All(cluster.KindIngress)) > 0 {
			t.Error("the Ingress is still there")
		}
	})
}

// TestHangingReadDelaysOthersOnlyUntilItsDeadline checks that a read without response for one load balancer occupies
// the only worker no longer than the deadline of a read, which is 30 seconds.
func TestHangingReadDelaysOthersOnlyUntilItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 5
		r := New(t, Options{Workers: 1})
		applyManyIngresses(t, r, n)
		attributes := ingressAnnotations("load-balancer-attributes", "idle_timeout.timeout_seconds=90")
		r.Apply(strings.Replace(webIngress(attributes, "/=web0", "/api=api0"), "name: web\n", "name: ing0\n", 1))
		time.Sleep(5 * time.Minute)
		r.Emulator.Faults().Add(fault.Rule{Operation: "DescribeLoadBalancerAttributes", Action: fault.Action{Hang: true}})
		time.Sleep(20 * time.Minute) // lets the facts expire
		for i := range n {
			a := ""
			if i == 0 {
				a = attributes
			}
			doc := webIngress(a, fmt.Sprintf("/=web%d", i), fmt.Sprintf("/new=api%d", i))
			r.Apply(strings.Replace(doc, "name: web\n", fmt.Sprintf("name: ing%d\n", i), 1))
		}
		time.Sleep(35 * time.Second) // the deadline of a read is 30 s
		for i := range n {
			if !slices.ContainsFunc(r.State(), func(l string) bool {
				return strings.HasPrefix(l, "rule ") && strings.Contains(l, `"/new"`) && strings.Contains(l, fmt.Sprintf("k8s-shop-api%d", i))
			}) {
				t.Errorf("ing%d is not served on its new path after 35 s", i)
			}
		}
		// Let all delayed items run before the test ends. The queue does not stop while an item is due.
		r.Emulator.Faults().ClearRules()
		time.Sleep(10*time.Minute + 7*time.Second)
	})
}
