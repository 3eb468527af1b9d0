package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// ingressAtHost returns YAML of Ingress "shop/web" with the given host, which the seeded certificates need not cover.
func ingressAtHost(host, annotations string, paths ...string) string {
	return strings.Replace(webIngress(annotations, paths...), "shop.example.com", host, 1)
}

// setNameTags sets the tag "Name" of the EC2 resources with the given IDs.
func setNameTags(t *testing.T, r *Harness, name string, ids ...string) {
	t.Helper()
	_, err := ec2.NewFromConfig(AWSConfig(r.Emulator)).CreateTags(t.Context(), &ec2.CreateTagsInput{
		Resources: ids, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: &name}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// replaceBackendByAction replaces backend "late" of an Ingress by the action of the same name.
func replaceBackendByAction(doc string) string {
	return strings.Replace(doc, "{name: late, port: {number: 80}}", "{name: late, port: {name: use-annotation}}", 1)
}

// removeCertificate deletes a certificate from ACM and returns a function that restores it.
func removeCertificate(r *Harness, arn string) func() {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	all := w.Partition(Account, Region).ACM.Certificates
	c := all[arn]
	delete(all, arn)
	return func() {
		w.Lock()
		defer w.Unlock()
		all[arn] = c
	}
}

// TestMissingResourceIsFoundWhenItAppears checks that the controller reports a missing AWS resource, and finds it after
// it is created. The controller must look for it repeatedly, because AWS sends no event.
func TestMissingResourceIsFoundWhenItAppears(t *testing.T) {
	t.Parallel()
	type step = func(t *testing.T, r *Harness)
	cases := map[string]struct {
		// given prepares AWS, and returns a function that creates the missing resource.
		given  func(t *testing.T, r *Harness) step
		opt    Options
		object func(r *Harness) string
		reason string // reason of the warning while the resource is missing
		served string // part of a line of State or allTargets that appears after the resource is created
	}{
		"a certificate for the host": {
			given: func(*testing.T, *Harness) step {
				return func(t *testing.T, r *Harness) {
					cert, key, err := selfSigned("shop.later.test")
					if err != nil {
						t.Fatal(err)
					}
					if _, err := acm.NewFromConfig(AWSConfig(r.Emulator)).ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key}); err != nil {
						t.Fatal(err)
					}
				}
			},
			object: func(*Harness) string {
				return ingressAtHost("shop.later.test", ingressAnnotations("listen-ports", `[{"HTTPS":443}]`), "/=web")
			},
			reason: "CertificateNotFound", served: `listener ["lb:k8s-shop-web`,
		},
		"a certificate by ARN": {
			given: func(_ *testing.T, r *Harness) step {
				back := removeCertificate(r, r.Seeded.Certs["app.test"])
				return func(*testing.T, *Harness) { back() }
			},
			object: func(r *Harness) string {
				return webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["app.test"]), "/=web")
			},
			reason: "CertificateNotFound", served: `listener ["lb:k8s-shop-web`,
		},
		"subnets by name": {
			given: func(*testing.T, *Harness) step {
				return func(t *testing.T, r *Harness) {
					setNameTags(t, r, "edge-1", r.Seeded.Public[0])
					setNameTags(t, r, "edge-2", r.Seeded.Public[1])
				}
			},
			object: func(*Harness) string { return webIngress(ingressAnnotations("subnets", "edge-1,edge-2"), "/=web") },
			reason: "SubnetsNotFound", served: "load-balancer [",
		},
		"subnets by their role": {
			given: func(t *testing.T, r *Harness) step {
				client := ec2.NewFromConfig(AWSConfig(r.Emulator))
				role := []ec2types.Tag{{Key: aws.String("kubernetes.io/role/elb"), Value: aws.String("1")}}
				w := r.Seeded
				if _, err := client.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: w.Public, Tags: []ec2types.Tag{{Key: role[0].Key}}}); err != nil {
					t.Fatal(err)
				}
				return func(t *testing.T, _ *Harness) {
					if _, err := client.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: w.Public, Tags: role}); err != nil {
						t.Fatal(err)
					}
				}
			},
			opt:    Options{Cloud: func(c *cloud.Config) { c.SubnetDiscoveryByReachability = false }},
			object: func(r *Harness) string { return webIngress(ingressAnnotations("scheme", "internet-facing"), "/=web") },
			reason: "SubnetsNotFound", served: "load-balancer [",
		},
		"a security group by name": {
			given: func(*testing.T, *Harness) step {
				return func(t *testing.T, r *Harness) { setNameTags(t, r, "edge", r.Seeded.ExtraSG) }
			},
			object: func(*Harness) string { return webIngress(ingressAnnotations("security-groups", "edge"), "/=web") },
			reason: "SecurityGroupNotFound", served: "load-balancer [",
		},
		"a target group by name": {
			given: func(*testing.T, *Harness) step { return createLateTargetGroup },
			object: func(*Harness) string {
				return replaceBackendByAction(webIngress(ingressAnnotations("actions.late", `{"type":"forward","targetGroupName":"late"}`), "/=web", "/late=late"))
			},
			reason: "TargetGroupNotFound", served: "tg:late",
		},
		"a target group by ARN": {
			given: func(_ *testing.T, r *Harness) step {
				w := r.Emulator.Store()
				w.Lock()
				defer w.Unlock()
				groups, arn := w.Partition(Account, Region).ELB.TargetGroups, r.Seeded.TargetGroups["external"]
				g := groups[arn]
				delete(groups, arn)
				return func(*testing.T, *Harness) {
					w.Lock()
					defer w.Unlock()
					groups[arn] = g
				}
			},
			object: func(r *Harness) string {
				return replaceBackendByAction(webIngress(ingressAnnotations("actions.late", `{"type":"forward","targetGroupARN":"`+r.Seeded.TargetGroups["external"]+`"}`), "/=web", "/late=late"))
			},
			reason: "TargetGroupNotFound", served: "tg:external",
		},
		"subnets of a frontend NLB": {
			given: func(*testing.T, *Harness) step {
				return func(t *testing.T, r *Harness) { setNameTags(t, r, "front-1", r.Seeded.Public[0]) }
			},
			object: func(*Harness) string {
				return webIngress(ingressAnnotations("enable-frontend-nlb", "true", "frontend-nlb-subnets", "front-1"), "/=web")
			},
			reason: "SubnetsNotFound", served: `"network"`,
		},
		"a target group of a binding": {
			given: func(*testing.T, *Harness) step { return createLateTargetGroup },
			object: func(*Harness) string {
				return `
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: late, namespace: shop}
spec: {targetGroupName: late, targetType: ip, serviceRef: {name: web, port: 80}}
`
			},
			reason: "TargetGroupNotFound", served: "target late",
		},
	}
	for name, c := range cases {
		found := func(t *testing.T, missing, within time.Duration) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, c.opt)
				appear := c.given(t, r)
				serves := func() bool {
					return slices.ContainsFunc(append(r.State(), allTargets(r)...), func(l string) bool { return strings.Contains(l, c.served) })
				}
				r.Apply(shop, readyPods("web", podAddresses[:3]...), c.object(r))
				r.Settle(missing)
				reported := strings.Join(slices.Sorted(func(yield func(string) bool) {
					for what := range warningEvents(r) {
						if !yield(what) {
							return
						}
					}
				}), "\n")
				if !strings.Contains(reported, c.reason) {
					t.Errorf("want a warning %s, got %s", c.reason, reported)
				}
				if serves() {
					t.Fatalf("the object is served although the resource is missing:\n%s", strings.Join(r.State(), "\n"))
				}
				events := len(r.Store.All("Event"))
				appear(t, r)
				r.Settle(within + 10*time.Second)
				if !serves() {
					t.Errorf("the object is not served %s after the resource was created:\n%s", within, strings.Join(r.State(), "\n"))
				}
				if n := len(r.Store.All("Event")) - events; n > 2 {
					t.Errorf("%d events", n)
				}
			})
		}
		t.Run(name, func(t *testing.T) { found(t, 8*time.Minute, 2*time.Minute) })
		// The controller looks for a resource less often if it has been missing for hours.
		t.Run(name+" after hours", func(t *testing.T) { found(t, 3*time.Hour, 16*time.Minute) })
	}
}

func createLateTargetGroup(t *testing.T, r *Harness) {
	t.Helper()
	_, err := elb.NewFromConfig(AWSConfig(r.Emulator)).CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
		Name: aws.String("late"), VpcId: &r.Seeded.VPC, TargetType: elbtypes.TargetTypeEnumIp, Protocol: "HTTP", Port: aws.Int32(8080),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allTargets returns "target <target group> <target ID>" for each target in AWS.
func allTargets(r *Harness) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, g := range w.Partition(Account, Region).ELB.TargetGroups {
		for _, t := range g.Targets {
			out = append(out, fmt.Sprintf("target %s %s", g.Name, t.ID))
		}
	}
	return out
}

// TestManyMissingResourcesCostFewCalls checks that the search for many missing resources makes at most about one call
// every two seconds, and no mutating call.
func TestManyMissingResourcesCostFewCalls(t *testing.T) {
	t.Parallel()
	n := measurementSize(300, 60)
	kinds := map[string]func(i int) string{
		"certificates": func(i int) string {
			return ingressAtHost(fmt.Sprintf("shop%d.later.test", i), ingressAnnotations("listen-ports", `[{"HTTPS":443}]`), "/=web")
		},
		"subnets": func(i int) string {
			return webIngress(ingressAnnotations("subnets", fmt.Sprintf("edge-%d", i)), "/=web")
		},
		"subnet ids": func(i int) string {
			return webIngress(ingressAnnotations("subnets", fmt.Sprintf("subnet-%017d", i)), "/=web")
		},
		"security groups": func(i int) string {
			return webIngress(ingressAnnotations("security-groups", fmt.Sprintf("edge-%d", i)), "/=web")
		},
		"web ACLs": func(i int) string {
			return webIngress(ingressAnnotations("wafv2-acl-name", fmt.Sprintf("acl-%d", i)), "/=web")
		},
		"trust stores": func(i int) string {
			return webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "mutual-authentication", fmt.Sprintf(`[{"port":443,"mode":"verify","trustStore":"ts-%d"}]`, i)), "/=web")
		},
		"target groups of actions": func(i int) string {
			return replaceBackendByAction(webIngress(ingressAnnotations("actions.late", fmt.Sprintf(`{"type":"forward","targetGroupName":"tg-%d"}`, i)), "/=late"))
		},
		"target groups of actions by ARN": func(i int) string {
			arn := fmt.Sprintf("arn:aws:elasticloadbalancing:%s:%s:targetgroup/gone/%016d", Region, Account, i)
			return replaceBackendByAction(webIngress(ingressAnnotations("actions.late", `{"type":"forward","targetGroupARN":"`+arn+`"}`), "/=late"))
		},
		"target groups of bindings": func(i int) string {
			return fmt.Sprintf(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: b-%[1]d, namespace: shop}
spec: {targetGroupName: tg-%[1]d, targetType: ip, serviceRef: {name: web, port: 80}}
`, i)
		},
	}
	for name, of := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...))
				for i := range n {
					r.Apply(strings.Replace(of(i), "name: web\n", fmt.Sprintf("name: ing%d\n", i), 1))
				}
				r.Settle(30 * time.Minute)
				r.Emulator.Calls().Reset()
				r.Settle(20 * time.Minute)
				logCalls(t, r, "twenty minutes", n)
				if total := r.Emulator.Calls().Total(); total > 20*60/2+100 {
					t.Errorf("%d calls in twenty minutes", total)
				}
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d mutating calls", n)
				}
			})
		})
	}
}

// TestStepOnMissingResourceHasBackOff checks that CreateRule is repeated with back-off if AWS answers that a listener
// is missing or a priority is in use, although the controller has just read the opposite.
func TestStepOnMissingResourceHasBackOff(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"ListenerNotFound", "PriorityInUse"} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Emulator.Faults().Add(fault.Rule{Operation: "CreateRule", Action: fault.Action{Error: &store.Error{Code: code, Message: "no", Status: 400}}})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				r.Settle(10 * time.Minute)
				r.Emulator.Calls().Reset()
				r.Settle(time.Hour)
				if n := r.Emulator.Calls().CountMutating(); n > 5*60 {
					t.Errorf("%d mutating calls in an hour", n)
				}
				if w := warningsByObject(r)["web"]; len(w) != 1 || !strings.Contains(w[0], code) {
					t.Errorf("want one warning, got %q", w)
				}
				r.Emulator.Faults().ClearRules()
				settleWithoutErrors(t, r)
				if !hasRule(r.State(), "/*") {
					t.Errorf("the rule is not created after AWS accepts it:\n%s", strings.Join(r.State(), "\n"))
				}
			})
		})
	}
}
