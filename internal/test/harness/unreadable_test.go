package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// optionalRead is a call that the controller uses to read a fact about one setting. Other settings do not need the
// fact.
type optionalRead struct {
	service, operation string
	// matchesCall, if not nil, selects the calls by their input, because other settings use the same operation.
	matchesCall func(input any) bool
	// annotationsBefore and annotationsAfter are annotations of the first member, before and after an edit of the
	// setting that needs the fact. A value "" removes a default annotation of ingressOfPair.
	annotationsBefore, annotationsAfter map[string]string
	// independentKinds are kinds of resources that comparableState ignores, because they do not depend on the fact.
	independentKinds []string
	// addedHost, if not "", is a host that the edit adds to the first member.
	addedHost string
	// requestsCertificates makes the controller request certificates.
	requestsCertificates bool
}

// hook returns a fault hook that applies an action to the calls of the read.
func (u optionalRead) hook(action fault.Action) fault.Hook {
	return func(c fault.Call) fault.Action {
		if c.Service != u.service || c.Operation != u.operation || u.matchesCall != nil && !u.matchesCall(c.Input) {
			return fault.Action{}
		}
		return action
	}
}

// action returns the IAM action of the read, as findings name it.
func (u optionalRead) action() string {
	service := u.service
	if service == "tagging" {
		service = "tag"
	}
	return service + ":" + u.operation
}

// optionalReads are all optional reads, with annotations that need them. Words such as PUBLIC01, EXTRA and ACL stand
// for IDs and ARNs.
var optionalReads = map[string]optionalRead{
	"attributes of the load balancer": {
		service: "elasticloadbalancing", operation: "DescribeLoadBalancerAttributes",
		annotationsBefore: map[string]string{"load-balancer-attributes": "idle_timeout.timeout_seconds=90"},
		annotationsAfter:  map[string]string{"load-balancer-attributes": "idle_timeout.timeout_seconds=120"},
	},
	"attributes of a listener": {
		service: "elasticloadbalancing", operation: "DescribeListenerAttributes",
		annotationsBefore: map[string]string{"listener-attributes.HTTPS-443": "routing.http.response.server.enabled=false"},
		annotationsAfter:  map[string]string{"listener-attributes.HTTPS-443": "routing.http.response.server.enabled=true"},
	},
	"attributes of a target group": {
		service: "elasticloadbalancing", operation: "DescribeTargetGroupAttributes",
		annotationsBefore: map[string]string{"target-group-attributes": "deregistration_delay.timeout_seconds=90"},
		annotationsAfter:  map[string]string{"target-group-attributes": "deregistration_delay.timeout_seconds=120"},
	},
	"capacity": {
		service: "elasticloadbalancing", operation: "DescribeCapacityReservation",
		annotationsBefore: map[string]string{"minimum-load-balancer-capacity": "CapacityUnits=200"},
		annotationsAfter:  map[string]string{"minimum-load-balancer-capacity": "CapacityUnits=300"},
	},
	"trust stores": {
		service: "elasticloadbalancing", operation: "DescribeTrustStores",
		annotationsBefore: map[string]string{"mutual-authentication": `[{"port":443,"mode":"verify","trustStore":"old"}]`},
		annotationsAfter:  map[string]string{"mutual-authentication": `[{"port":443,"mode":"verify","trustStore":"new"}]`},
	},
	"trust stores where no client is checked yet": {
		service: "elasticloadbalancing", operation: "DescribeTrustStores",
		annotationsAfter: map[string]string{"mutual-authentication": `[{"port":443,"mode":"verify","trustStore":"new"}]`},
	},
	"certificates of a listener": {
		service: "elasticloadbalancing", operation: "DescribeListenerCertificates",
		annotationsAfter: map[string]string{"certificate-arn": "OTHERCERT"},
	},
	"tags of listeners and rules": {
		service: "elasticloadbalancing", operation: "DescribeTags", matchesCall: readsListenerOrRuleTags, independentKinds: []string{"load-balancer", "target-group", "security-group"},
		annotationsBefore: map[string]string{"tags": "Team=blue"},
		annotationsAfter:  map[string]string{"tags": "Team=red"},
	},
	"certificates": {
		service: "acm", operation: "ListCertificates",
		annotationsBefore: map[string]string{"certificate-arn": ""},
		annotationsAfter:  map[string]string{"certificate-arn": ""},
		addedHost:         "first.app.test",
	},
	"own certificates": {
		service: "acm", operation: "ListTagsForCertificate", requestsCertificates: true,
		annotationsBefore: map[string]string{"certificate-arn": "", "create-acm-cert": "true"},
		annotationsAfter:  map[string]string{"certificate-arn": "", "create-acm-cert": "true"},
		addedHost:         "first.app.test",
	},
	"subnets": {
		service: "ec2", operation: "DescribeSubnets",
		annotationsBefore: map[string]string{"subnets": "PUBLIC01"},
		annotationsAfter:  map[string]string{"subnets": "PUBLIC12"},
	},
	"availability zones": {
		service: "ec2", operation: "DescribeAvailabilityZones",
		annotationsBefore: map[string]string{"subnets": "PUBLIC01"},
		annotationsAfter:  map[string]string{"subnets": "PUBLIC12"},
	},
	"security groups by name": {
		service: "ec2", operation: "DescribeSecurityGroups",
		annotationsBefore: map[string]string{"security-groups": "NODES"},
		annotationsAfter:  map[string]string{"security-groups": "EXTRA"},
	},
	"security groups of the controller": {
		service: "ec2", operation: "DescribeSecurityGroups",
		annotationsBefore: map[string]string{"inbound-cidrs": "10.0.0.0/8"},
		annotationsAfter:  map[string]string{"inbound-cidrs": "11.0.0.0/8"},
	},
	"attributes of the frontend NLB": {
		service: "elasticloadbalancing", operation: "DescribeLoadBalancerAttributes",
		annotationsBefore: map[string]string{"enable-frontend-nlb": "true", "frontend-nlb-attributes": "load_balancing.cross_zone.enabled=false"},
		annotationsAfter:  map[string]string{"enable-frontend-nlb": "true", "frontend-nlb-attributes": "load_balancing.cross_zone.enabled=true"},
	},
	"subnets of the frontend NLB": {
		service: "ec2", operation: "DescribeSubnets",
		annotationsBefore: map[string]string{"enable-frontend-nlb": "true", "frontend-nlb-subnets": "PUBLIC01"},
		annotationsAfter:  map[string]string{"enable-frontend-nlb": "true", "frontend-nlb-subnets": "PUBLIC12"},
	},
	"web ACLs": {
		service: "wafv2", operation: "ListWebACLs",
		annotationsAfter: map[string]string{"wafv2-acl-name": "rig"},
	},
	"the web ACL of the load balancer": {
		service: "wafv2", operation: "GetWebACLForResource",
		annotationsBefore: map[string]string{"wafv2-acl-arn": "ACL"},
		annotationsAfter:  map[string]string{"wafv2-acl-arn": "none"},
	},
	"the subscription to Shield": {
		service: "shield", operation: "GetSubscriptionState",
		annotationsAfter: map[string]string{"shield-advanced-protection": "true"},
	},
	"the protection by Shield": {
		service: "shield", operation: "DescribeProtection",
		annotationsAfter: map[string]string{"shield-advanced-protection": "true"},
	},
}

// readFaults are the faults of a read. soon is the time within which a change that does not need the fact must take
// effect.
var readFaults = map[string]struct {
	action fault.Action
	soon   time.Duration
	calls  int // maximum number of failed calls in about an hour
}{
	"denied":  {fault.Action{Deny: true}, 15 * time.Second, 60},
	"failing": {fault.Action{Error: &store.Error{Code: "InternalFailure", Message: "try again", Status: 500}}, 2 * time.Minute, 250},
	"hanging": {fault.Action{Hang: true}, 2 * time.Minute, 100},
}

// ingressOfPair returns YAML of Ingress "first" or "second" in IngressGroup "team", with one rule for the given path for
// each host. annotations replace the default annotations. hosts are further hosts.
func (r *Harness) ingressOfPair(name, path string, annotations map[string]string, hosts ...string) string {
	all := map[string]string{"listen-ports": `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn": r.Seeded.Certs["example.com"]}
	maps.Copy(all, annotations)
	words := strings.NewReplacer(
		"PUBLIC01", r.Seeded.Public[0]+","+r.Seeded.Public[1], "PUBLIC12", r.Seeded.Public[1]+","+r.Seeded.Public[2],
		"OTHERCERT", r.Seeded.Certs["example.com"]+","+r.Seeded.Certs["app.test"], "ACL", r.Seeded.WebACL, "NODES", r.Seeded.NodeSG, "EXTRA", r.Seeded.ExtraSG,
	)
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if all[k] != "" {
			fmt.Fprintf(&b, ", %s%s: '%s'", annotationPrefix, k, words.Replace(all[k]))
		}
	}
	service := map[string]string{"first": "web", "second": "api"}[name]
	doc := fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %s
  namespace: shop
  annotations: {%sgroup.name: team, %starget-type: ip%s}
spec:
  ingressClassName: alb
  rules:`, name, annotationPrefix, annotationPrefix, b.String())
	for _, h := range append([]string{name + ".example.com"}, hosts...) {
		doc += fmt.Sprintf(`
  - host: %s
    http: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}]}`, h, path, service)
	}
	return doc + "\n"
}

// readsListenerOrRuleTags reports whether input is that of a DescribeTags call for listeners or rules.
func readsListenerOrRuleTags(input any) bool {
	in, ok := input.(*elb.DescribeTagsInput)
	return ok && slices.ContainsFunc(in.ResourceArns, func(arn string) bool { return strings.Contains(arn, ":listener") })
}

// comparableState returns State, and the web ACL, capacity, mutual authentication and Shield protections of load
// balancers. It omits the rules of the second member, independentKinds of u, and lines with addedHost of u.
func (r *Harness) comparableState(u optionalRead) (out []string) {
	for _, l := range r.State() {
		kind, _, _ := strings.Cut(l, " ")
		switch {
		case kind == "rule" && strings.Contains(l, "second.example.com"), slices.Contains(u.independentKinds, kind), u.addedHost != "" && strings.Contains(l, u.addedHost):
		default:
			out = append(out, l)
		}
	}
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for arn, lb := range p.ELB.LoadBalancers {
		out = append(out, fmt.Sprint("capacity ", lb.Capacity.Units, " acl ", p.WAFv2.Associations[arn]))
	}
	for _, l := range p.ELB.Listeners {
		mutual, err := json.Marshal(l.Mutual)
		if err != nil {
			r.T.Fatal(err)
		}
		out = append(out, fmt.Sprintf("mutual %d %s", l.Port, mutual))
	}
	for _, x := range w.Partition(Account, "us-east-1").Shield.Protections {
		out = append(out, "protection "+x.Name)
	}
	slices.Sort(out)
	return out
}

// isSecondMemberServed reports whether both ports have a rule of the second member for the given path.
func isSecondMemberServed(r *Harness, path string) bool {
	n := 0
	for _, l := range r.State() {
		if strings.HasPrefix(l, "rule ") && strings.Contains(l, "second.example.com") && strings.Contains(l, `"`+path+`"`) && strings.Contains(l, "tg:k8s-shop-api") {
			n++
		}
	}
	return n == 2 // ports 80 and 443
}

// TestFailedReadHoldsOnlyDependentSettings checks an edit of a setting that needs a read that fails. The setting keeps
// its value in AWS, and a warning on its member names the IAM action. A change of another member takes effect soon. The
// edit is applied after the read succeeds.
func TestFailedReadHoldsOnlyDependentSettings(t *testing.T) {
	t.Parallel()
	for i, trouble := range slices.Sorted(maps.Keys(readFaults)) {
		for j, name := range slices.Sorted(maps.Keys(optionalReads)) {
			if (i+j)%seeds.Step(2) != 0 {
				continue
			}
			t.Run(trouble+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkFailedReadHoldsDependents(t, optionalReads[name], trouble) })
			})
		}
	}
}

func checkFailedReadHoldsDependents(t *testing.T, u optionalRead, trouble string) {
	r := shopWith(t, Options{
		Ingress: func(o *ingress.Options) { o.ManageCertificates = u.requestsCertificates },
		Plan: func(o *plan.Options) {
			o.ManageCertificates, o.SkipManagedCertificates = u.requestsCertificates, u.requestsCertificates
		},
		Cloud: func(c *cloud.Config) { c.ManagedCertificates = u.requestsCertificates },
	})
	r.createResourcesFor(u)
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...))
	r.Apply(r.ingressOfPair("first", "/", u.annotationsBefore), r.ingressOfPair("second", "/old", nil))
	settleWithoutErrors(t, r)
	if w := warningsByObject(r); len(w) > 0 {
		t.Fatalf("warnings before anything is wrong: %v", w)
	}
	before := r.comparableState(u)

	r.Start() // the new process has no facts of the previous one
	r.Emulator.Faults().SetHook(u.hook(readFaults[trouble].action))
	var hosts []string
	if u.addedHost != "" {
		hosts = []string{u.addedHost}
	}
	r.Apply(r.ingressOfPair("first", "/", u.annotationsAfter, hosts...), r.ingressOfPair("second", "/new", nil))
	r.Emulator.Calls().Reset()
	r.Settle(readFaults[trouble].soon)
	if !isSecondMemberServed(r, "/new") {
		t.Errorf("the second member is not served on its new path: %v", warningsByObject(r))
	}
	r.Settle(time.Hour)
	if after := r.comparableState(u); !slices.Equal(before, after) {
		t.Errorf("settings that need the fact changed:\n%s", difference(before, after))
	}
	w := warningsByObject(r)
	if len(w["second"]) > 0 {
		t.Errorf("the second member is warned: %q", w["second"])
	}
	if !slices.ContainsFunc(w["first"], func(m string) bool {
		return strings.Contains(m, `"`+u.action()+`"`) && (trouble != "denied" || strings.Contains(m, "add "+u.action()+" to the controller's IAM policy"))
	}) {
		t.Errorf("the first member gets no event that names the permission that is missing: %q", w["first"])
	}
	if n := failedCalls(r, u.operation); n == 0 || n > readFaults[trouble].calls {
		t.Errorf("%d attempts that fail in an hour", n)
	}

	r.Emulator.Faults().SetHook(nil)
	settleWithoutErrors(t, r)
	if after := r.comparableState(u); slices.Equal(before, after) {
		t.Error("the edit is not applied after the read succeeds")
	}
}

// failedCalls returns the number of calls of an operation that failed because of an injected fault.
func failedCalls(r *Harness, operation string) (n int) {
	for _, e := range r.Emulator.Calls().Entries() {
		if e.Operation == operation && e.Fault != "" {
			n++
		}
	}
	return n
}

// difference returns the lines that are only in before, with "- ", and those that are only in after, with "+ ".
func difference(before, after []string) string {
	var out []string
	for _, l := range before {
		if !slices.Contains(after, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}

// createResourcesFor creates the trust stores and hosted zones that a case needs.
func (r *Harness) createResourcesFor(u optionalRead) {
	r.T.Helper()
	client := elb.NewFromConfig(AWSConfig(r.Emulator))
	for _, name := range []string{"old", "new"} {
		if !strings.Contains(u.annotationsBefore["mutual-authentication"]+u.annotationsAfter["mutual-authentication"], `"`+name+`"`) {
			continue
		}
		_, err := client.CreateTrustStore(r.T.Context(), &elb.CreateTrustStoreInput{
			Name: aws.String(name), CaCertificatesBundleS3Bucket: aws.String("bucket"), CaCertificatesBundleS3Key: aws.String("ca.pem"),
		})
		if err != nil {
			r.T.Fatal(err)
		}
	}
	if u.requestsCertificates {
		r.createZone("example.com", "")
		r.createZone("app.test", "")
	}
}
