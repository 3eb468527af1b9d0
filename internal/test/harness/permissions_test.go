package harness

import (
	"crypto/elliptic"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/wafregional"
	waftypes "github.com/aws/aws-sdk-go-v2/service/wafregional/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/authz"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// permitted is a scenario of the permission table. The controller has the permissions of the table and of the
// features, or all of them but one.
type permitted struct {
	features []string
	// setUp changes the options; live applies objects and settles the controller.
	setUp func(*Options)
	live  func(p *permittedRun)
	// instead is the call that is made more often if the permissions are missing, for which only metrics show the
	// denial.
	instead string
	// separate marks a scenario without whose permissions an Ingress that does not use its feature is still served.
	separate bool
}

// permittedRun is one run of a scenario.
type permittedRun struct {
	*Harness
	t *testing.T
}

// act applies objects and settles the controller.
func (p *permittedRun) act(objects ...string) {
	p.t.Helper()
	p.Apply(objects...)
	p.Settle(30 * time.Minute)
}

// applyShop begins a scenario with an Ingress with annotations.
func (p *permittedRun) applyShop(annotations ...string) {
	p.t.Helper()
	p.act(shop, pods("web", podAddresses[:3]...), pods("api", podAddresses[3]), ingressOf(annotated(annotations...), "/=web"))
}

// again restarts the controller, which then reads the existing state.
func (p *permittedRun) again() {
	p.t.Helper()
	p.Start()
	p.act()
}

// leave deletes the Ingress.
func (p *permittedRun) leave() {
	p.t.Helper()
	p.drop(cluster.KindIngress, "shop", "web")
	p.act()
}

// otherRights are the permissions that docs/permissions.md requires for the role of another account.
const otherRights = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Resource": "*", "Action": ["elasticloadbalancing:DescribeTargetGroups",
	"elasticloadbalancing:DescribeTargetHealth", "elasticloadbalancing:RegisterTargets", "elasticloadbalancing:DeregisterTargets"]}]}`

// bystander is an Ingress with its own load balancer and without optional features.
const bystander = `
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: v1
kind: Service
metadata: {name: plain, namespace: other, uid: 11111111-0000-4000-8000-0000000000aa}
spec: {type: NodePort, selector: {app: plain}, ports: [{port: 80, targetPort: 8080, nodePort: 30099}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: plain, namespace: other}
spec:
  ingressClassName: alb
  defaultBackend: {service: {name: plain, port: {number: 80}}}
`

const (
	rowCertificates    = "--feature-gates=EnableCertificateManagement=true"
	rowImports         = "--import-tls-secrets"
	rowFirstGeneration = "resources of alb-ingress-controller v1"
	rowTagging         = "--feature-gates=EnableRGTAPI=true"
	rowRole            = "spec.iamRoleArnToAssume of a TargetGroupBinding"
)

var permittedScenarios = map[rights.Scenario]permitted{
	rights.Ingress: {live: func(p *permittedRun) {
		facing := annotated("scheme", "internet-facing")
		p.applyShop("scheme", "internet-facing")
		p.again()
		p.act(ingressOf(facing+annotated("listen-ports", `[{"HTTP":80},{"HTTP":8080}]`), "/=api", "/new=web", "/api=api"))
		p.act(ingressOf(facing, "/api=api", "/=web"), pods("web", podAddresses[0]))
		p.leave()
	}},
	rights.Settings: {live: func(p *permittedRun) {
		both := p.World.Certs["example.com"] + "," + p.World.Certs["app.test"]
		p.applyShop("tags", "team=a,unit=b", "listen-ports", `[{"HTTPS":443}]`, "certificate-arn", p.World.Certs["example.com"])
		p.act(ingressOf(annotated("tags", "team=b", "listen-ports", `[{"HTTPS":443}]`, "certificate-arn", both,
			"listener-attributes.HTTPS-443", "routing.http.response.server.enabled=false", "load-balancer-attributes", "idle_timeout.timeout_seconds=77",
			"target-group-attributes", "slow_start.duration_seconds=40", "healthcheck-path", "/ok", "ssl-policy", "ELBSecurityPolicy-TLS13-1-2-2021-06"), "/=web"))
		p.again()
		p.act(ingressOf(annotated("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", p.World.Certs["example.com"], "security-groups", p.World.ExtraSG), "/=web"))
	}},
	rights.Nodes: {live: func(p *permittedRun) {
		p.act(shop, strings.Replace(ingressOf("", "/=web"), "target-type: ip", "target-type: instance", 1))
	}},
	rights.PodNetworks: {separate: true, live: func(p *permittedRun) {
		out, err := ec2.NewFromConfig(AWSConfig(p.Emulator)).CreateNetworkInterface(p.t.Context(), &ec2.CreateNetworkInterfaceInput{
			SubnetId: &p.World.Private[0], Groups: []string{p.World.ExtraSG},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		own := aws.ToString(out.NetworkInterface.PrivateIpAddress)
		eni := fmt.Sprintf(`annotations: {vpc.amazonaws.com/pod-eni: '[{"eniId":"%s","privateIp":"%s"}]'}, labels: {app: web}`, *out.NetworkInterface.NetworkInterfaceId, own)
		p.act(shop, strings.Replace(pods("web", own), "labels: {app: web}", eni, 1), ingressOf("", "/=web"))
	}},
	rights.Networks: {live: func(p *permittedRun) {
		p.applyShop("scheme", "internet-facing", "subnets", strings.Join(p.World.Public[:2], ","))
		p.act(ingressOf(annotated("scheme", "internet-facing", "subnets", strings.Join(p.World.Public, ","), "ip-address-type", "dualstack"), "/=web"))
		// Without role tags, routes show which subnets are public.
		_, err := ec2.NewFromConfig(AWSConfig(p.Emulator)).DeleteTags(p.t.Context(), &ec2.DeleteTagsInput{
			Resources: slices.Concat(p.World.Public, p.World.Private),
			Tags:      []ec2types.Tag{{Key: aws.String("kubernetes.io/role/elb")}, {Key: aws.String("kubernetes.io/role/internal-elb")}},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		p.Start()
		p.act(exposedService("mail", withService("aws-load-balancer-scheme", "internet-facing"), onePort))
	}},
	rights.Addresses: {separate: true, live: func(p *permittedRun) {
		p.act(shop, pods("mail", podAddresses[0]), exposedService("mail", withService("aws-load-balancer-scheme", "internet-facing",
			"aws-load-balancer-subnets", p.World.Public[0], "aws-load-balancer-eip-allocations", p.World.EIPs[0]), onePort))
	}},
	rights.PeeredIPv6: {separate: true, live: func(p *permittedRun) {
		six := strings.Replace(shop, "spec: {type: NodePort, selector: {app: web}", "spec: {type: NodePort, ipFamilies: [IPv6], selector: {app: web}", 1)
		p.act(six, strings.Replace(strings.ReplaceAll(pods("web", podAddresses[0]), podAddresses[0], "'2001:db8::7'"), "addressType: IPv4", "addressType: IPv6", 1),
			ingressOf(annotated("ip-address-type", "dualstack"), "/=web"))
	}},
	rights.Pools: {separate: true, live: func(p *permittedRun) {
		p.applyShop("customer-owned-ipv4-pool", "ipv4pool-coip-1")
		p.leave()
		p.applyShop("scheme", "internet-facing", "ipam-ipv4-pool-id", "ipam-pool-1")
		p.act(ingressOf(annotated("scheme", "internet-facing", "ipam-ipv4-pool-id", "ipam-pool-2"), "/=web"))
	}},
	rights.Cognito: {separate: true, live: func(p *permittedRun) {
		pool := fmt.Sprintf("arn:%s:cognito-idp:%s:%s:userpool/%[2]s_abc", p.Emulator.Store().AWS().Name, RegionOf(p.Emulator), Account)
		p.applyShop("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", p.World.Certs["example.com"], "auth-type", "cognito",
			"auth-idp-cognito", `{"userPoolARN":"`+pool+`","userPoolClientID":"c","userPoolDomain":"d"}`)
	}},
	rights.IAMCertificate: {separate: true, live: func(p *permittedRun) {
		p.applyShop("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", "arn:"+p.Emulator.Store().AWS().Name+":iam::"+Account+":server-certificate/old")
	}},
	rights.Certificates: {separate: true, live: func(p *permittedRun) {
		// The summary of a certificate in a list contains only its first hundred names.
		names := []string{"shop.example.com"}
		for i := range 101 {
			names = append(names, fmt.Sprintf("n%d.example.com", i))
		}
		cert, key, err := selfSigned(names...)
		if err != nil {
			p.t.Fatal(err)
		}
		if _, err := acm.NewFromConfig(AWSConfig(p.Emulator)).ImportCertificate(p.t.Context(), &acm.ImportCertificateInput{Certificate: cert, PrivateKey: key}); err != nil {
			p.t.Fatal(err)
		}
		p.applyShop("listen-ports", `[{"HTTPS":443}]`)
	}},
	rights.TrustStores: {separate: true, live: func(p *permittedRun) {
		_, err := elb.NewFromConfig(AWSConfig(p.Emulator)).CreateTrustStore(p.t.Context(), &elb.CreateTrustStoreInput{
			Name: aws.String("clients"), CaCertificatesBundleS3Bucket: aws.String("bucket"), CaCertificatesBundleS3Key: aws.String("ca.pem"),
		})
		if err != nil {
			p.t.Fatal(err)
		}
		p.applyShop("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", p.World.Certs["example.com"],
			"mutual-authentication", `[{"port":443,"mode":"verify","trustStore":"clients"}]`)
	}},
	rights.Capacity: {separate: true, live: func(p *permittedRun) {
		p.applyShop("minimum-load-balancer-capacity", "CapacityUnits=3000")
	}},
	rights.WebACLs: {separate: true, live: func(p *permittedRun) {
		p.applyShop("wafv2-acl-name", "rig")
		p.again()
		p.act(ingressOf(annotated("wafv2-acl-arn", "none"), "/=web"))
	}},
	rights.ClassicWebACLs: {separate: true, live: func(p *permittedRun) {
		out, err := wafregional.NewFromConfig(AWSConfig(p.Emulator)).CreateWebACL(p.t.Context(), &wafregional.CreateWebACLInput{
			Name: aws.String("classic"), MetricName: aws.String("classic"), ChangeToken: classicToken(p),
			DefaultAction: &waftypes.WafAction{Type: waftypes.WafActionTypeAllow},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		p.applyShop("waf-acl-id", *out.WebACL.WebACLId)
		p.again()
		p.act(ingressOf(annotated("waf-acl-id", "none"), "/=web"))
	}},
	rights.Protection: {separate: true, live: func(p *permittedRun) {
		p.applyShop("shield-advanced-protection", "true")
		p.again()
		p.act(ingressOf(annotated("shield-advanced-protection", "false"), "/=web"))
	}},
	rights.OwnCertificates: {separate: true, features: []string{rowCertificates}, setUp: requestCertificates, live: func(p *permittedRun) {
		p.seedZones(30 * time.Second)
		p.applyShop("create-acm-cert", "true")
		p.act(more)
		p.act(ingressOf(annotated("certificate-arn", p.World.Certs["example.com"]), "/=web"))
		p.Settle(2 * time.Hour)
	}},
	rights.PrivateCA: {separate: true, features: []string{rowCertificates}, setUp: requestCertificates, live: func(p *permittedRun) {
		ca := fmt.Sprintf("arn:%s:acm-pca:%s:%s:certificate-authority/00000000-0000-4000-8000-000000000001", p.Emulator.Store().AWS().Name, RegionOf(p.Emulator), Account)
		p.applyShop("create-acm-cert", "true", "acm-pca-arn", ca)
	}},
	rights.FirstGeneration: {separate: true, features: []string{rowFirstGeneration}, live: func(p *permittedRun) {
		p.createV1Resources()
		p.Start()
		p.applyShop()
		p.leave()
	}},
	rights.Imports: {separate: true, features: []string{rowImports}, setUp: func(o *Options) { *o = importing(*o) }, live: func(p *permittedRun) {
		i := newIssuer(p.t)
		p.act(shop, pods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
		p.act(i.issue("shop", elliptic.P256(), "shop.example.com", "www.example.com"))
		p.again()
		p.act(withTLS(annotated("certificate-arn", p.World.Certs["example.com"]), "shop"))
		p.Settle(2 * time.Hour)
	}},
	rights.Tagging: {instead: "elasticloadbalancing:DescribeTags", features: []string{rowTagging}, setUp: func(o *Options) { o.TaggingLag = time.Second }, live: func(p *permittedRun) {
		api := elb.NewFromConfig(AWSConfig(p.Emulator))
		for i := range 25 { // more than one call for tags can name
			in := &elb.CreateLoadBalancerInput{Name: aws.String(fmt.Sprintf("foreign-%d", i)), Type: elbtypes.LoadBalancerTypeEnumNetwork,
				Scheme: elbtypes.LoadBalancerSchemeEnumInternal, Subnets: p.World.Private[:1]}
			if _, err := api.CreateLoadBalancer(p.t.Context(), in); err != nil {
				p.t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		p.applyShop()
	}},
	rights.OtherAccounts: {separate: true, features: []string{rowRole}, live: func(p *permittedRun) {
		arn, vpc := createCrossAccountTargetGroup(p.t, p.Harness)
		theirs, err := emulated.Parse([]byte(otherRights))
		if err != nil {
			p.t.Fatal(err)
		}
		w := p.Emulator.Store()
		w.Lock()
		w.PutRole(store.Role{ARN: role, ExternalID: word, Trusted: []string{Account}, Policies: []emulated.Policy{theirs}})
		w.Unlock()
		p.act(shop, pods("web", podAddresses[:2]...), bindingTo(arn, "vpcID: "+vpc, "iamRoleArnToAssume: "+role, "assumeRoleExternalId: "+word))
		p.again()
		p.act(pods("web", podAddresses[0]))
	}},
}

func classicToken(p *permittedRun) *string {
	p.t.Helper()
	out, err := wafregional.NewFromConfig(AWSConfig(p.Emulator)).GetChangeToken(p.t.Context(), &wafregional.GetChangeTokenInput{})
	if err != nil {
		p.t.Fatal(err)
	}
	return out.ChangeToken
}

// permittedResult is the result of a run.
type permittedResult struct {
	warnings []string
	used     map[authz.Used]int
	denied   map[string]int
	calls    map[string]int
	state    []string
	// other is the AWS state of the unrelated Ingress, which must not change.
	other []string
}

// runPermitted runs a scenario in a partition without one permission, or with all if the statement is empty.
func runPermitted(t *testing.T, name rights.Scenario, partition, sid, action string) (out permittedResult) {
	t.Helper()
	s, ok := permittedScenarios[name]
	if !ok {
		t.Fatalf("there is no scenario %q", name)
	}
	synctest.Test(t, func(t *testing.T) {
		opt := Options{Policies: [][]byte{rights.Without(partition, sid, action, s.features...)}}
		opt.Emulator.Partition = partition
		if s.setUp != nil {
			s.setUp(&opt)
		}
		p := &permittedRun{Harness: shopWith(t, opt), t: t}
		if s.separate {
			p.act(shop, strings.ReplaceAll(pods("plain", podAddresses[4]), "namespace: shop", "namespace: other"), bystander)
		}
		s.live(p)
		if s.separate {
			for _, line := range p.State() {
				if strings.Contains(line, "k8s-other-plain") {
					out.other = append(out.other, line)
				}
			}
		}
		for _, o := range p.Store.All("Event") {
			if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
				out.warnings = append(out.warnings, e.InvolvedObject.Name+": "+e.Message)
			}
		}
		out.used, out.denied, out.calls, out.state = p.Emulator.Permissions(), p.Emulator.Denials(), p.Emulator.Calls().Counts(), p.State()
	})
	return out
}

// TestScenariosUseAllPermissions checks that the scenarios need every permission of the table and no other, and that
// they cause no warning.
func TestScenariosUseAllPermissions(t *testing.T) {
	t.Parallel()
	results := map[rights.Scenario]permittedResult{}
	for _, name := range slices.Sorted(maps.Keys(permittedScenarios)) {
		t.Run(string(name), func(t *testing.T) {
			out := runPermitted(t, name, "aws", "", "")
			results[name] = out
			for denied := range out.denied {
				t.Error(denied)
			}
		})
	}
	for _, s := range rights.AWS {
		if s.Feature == rights.Doctor {
			continue // see internal/cli
		}
		for _, a := range s.Actions {
			key := authz.Used{Sid: s.Sid, Action: a.Name}
			if results[a.Scenario].used[key] > 0 {
				continue
			}
			var users []string
			for name, out := range results {
				if out.used[key] > 0 {
					users = append(users, string(name))
				}
			}
			slices.Sort(users)
			t.Errorf("%s %s is not used by %q but by %q", s.Sid, a.Name, a.Scenario, users)
		}
	}
}

// TestWithoutPermission checks that without any one permission its scenario has a finding that names it, and that
// objects that do not need it are served.
func TestWithoutPermission(t *testing.T) {
	t.Parallel()
	// Many permissions share a scenario, whose result with all permissions is computed once.
	var mu sync.Mutex
	results := map[rights.Scenario]permittedResult{}
	permitted := func(t *testing.T, name rights.Scenario) permittedResult {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		out, ok := results[name]
		if !ok {
			out = runPermitted(t, name, "aws", "", "")
			results[name] = out
		}
		return out
	}
	for _, s := range rights.AWS {
		if s.Feature == rights.Doctor {
			continue
		}
		t.Run(s.Sid, func(t *testing.T) {
			t.Parallel()
			for _, a := range seeds.Spread(2, s.Actions) {
				t.Run(a.Name, func(t *testing.T) {
					out := runPermitted(t, a.Scenario, "aws", s.Sid, a.Name)
					if call := permittedScenarios[a.Scenario].instead; call != "" {
						all := permitted(t, a.Scenario)
						if len(out.denied) == 0 || out.calls[call] <= all.calls[call] {
							t.Errorf("%s was called %d times instead of %d; denied: %v", call, out.calls[call], all.calls[call], out.denied)
						}
						if d := cmp.Diff(all.state, out.state); d != "" {
							t.Errorf("(-with +without):\n%s", d)
						}
						return
					}
					if s.Sid == "Read" && a.Name == "acm:ListTagsForCertificate" {
						// A controller that may not read tags has never imported certificates, so nothing is missing.
						if all := permitted(t, a.Scenario); !cmp.Equal(all.state, out.state) || len(out.denied) == 0 {
							t.Errorf("(-with +without):\n%s\ndenied: %v", cmp.Diff(all.state, out.state), out.denied)
						}
						return
					}
					if !slices.ContainsFunc(out.warnings, func(w string) bool { return strings.Contains(w, a.Name) }) {
						t.Errorf("no finding names the permission; the warnings are %q", out.warnings)
					}
					if !permittedScenarios[a.Scenario].separate {
						return
					}
					all := permitted(t, a.Scenario)
					if len(all.other) < 4 {
						t.Fatalf("the other Ingress has only %q", all.other)
					}
					if d := cmp.Diff(all.other, out.other); d != "" {
						t.Errorf("an Ingress that does not need the permission (-with +without):\n%s", d)
					}
				})
			}
		})
	}
}
