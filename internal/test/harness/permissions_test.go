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

// permissionScenario is a scenario of the table of IAM permissions. The controller has the permissions that every
// installation needs and those of the features, or all of these except one.
type permissionScenario struct {
	features []string
	// setUp, if not nil, changes the options. run applies objects and settles the controller.
	setUp func(*Options)
	run   func(p *permissionRun)
	// repeatedCall, if not "", is the call that the controller makes more often if a permission of the scenario is
	// missing. No finding reports such a permission.
	repeatedCall string
	// isIndependent reports whether an Ingress that does not use the feature is served without its permissions.
	isIndependent bool
}

// permissionRun is one run of a permissionScenario.
type permissionRun struct {
	*Harness
	t *testing.T
}

// applyAndSettle applies YAML documents and settles the controller.
func (p *permissionRun) applyAndSettle(objects ...string) {
	p.t.Helper()
	p.Apply(objects...)
	p.Settle(30 * time.Minute)
}

// applyShop applies Ingress "shop/web" with annotations, its Services and their pods, and settles the controller.
// annotations are alternating names and values.
func (p *permissionRun) applyShop(annotations ...string) {
	p.t.Helper()
	p.applyAndSettle(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]), webIngress(ingressAnnotations(annotations...), "/=web"))
}

// restartAndSettle restarts the controller, and lets it read the existing state of AWS.
func (p *permissionRun) restartAndSettle() {
	p.t.Helper()
	p.Start()
	p.applyAndSettle()
}

// deleteIngressAndSettle deletes Ingress "shop/web", and settles the controller.
func (p *permissionRun) deleteIngressAndSettle() {
	p.t.Helper()
	p.deleteObject(cluster.KindIngress, "shop", "web")
	p.applyAndSettle()
}

// otherAccountPolicy has the permissions that docs/permissions.md requires for a role in another account.
const otherAccountPolicy = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Resource": "*", "Action": ["elasticloadbalancing:DescribeTargetGroups",
	"elasticloadbalancing:DescribeTargetHealth", "elasticloadbalancing:RegisterTargets", "elasticloadbalancing:DeregisterTargets"]}]}`

// unrelatedIngress is an Ingress in namespace "other" with a separate load balancer and without optional features.
const unrelatedIngress = `
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
	featureCertificates    = "--feature-gates=EnableCertificateManagement=true"
	featureImports         = "--import-tls-secrets"
	featureFirstGeneration = "resources of alb-ingress-controller v1"
	featureTagging         = "--feature-gates=EnableRGTAPI=true"
	featureRole            = "spec.iamRoleArnToAssume of a TargetGroupBinding"
)

var permissionScenarios = map[rights.Scenario]permissionScenario{
	rights.ScenarioIngress: {run: func(p *permissionRun) {
		facing := ingressAnnotations("scheme", "internet-facing")
		p.applyShop("scheme", "internet-facing")
		p.restartAndSettle()
		p.applyAndSettle(webIngress(facing+ingressAnnotations("listen-ports", `[{"HTTP":80},{"HTTP":8080}]`), "/=api", "/new=web", "/api=api"))
		p.applyAndSettle(webIngress(facing, "/api=api", "/=web"), readyPods("web", podAddresses[0]))
		p.deleteIngressAndSettle()
	}},
	rights.ScenarioSettings: {run: func(p *permissionRun) {
		both := p.Seeded.Certs["example.com"] + "," + p.Seeded.Certs["app.test"]
		p.applyShop("tags", "team=a,unit=b", "listen-ports", `[{"HTTPS":443}]`, "certificate-arn", p.Seeded.Certs["example.com"])
		p.applyAndSettle(webIngress(ingressAnnotations("tags", "team=b", "listen-ports", `[{"HTTPS":443}]`, "certificate-arn", both,
			"listener-attributes.HTTPS-443", "routing.http.response.server.enabled=false", "load-balancer-attributes", "idle_timeout.timeout_seconds=77",
			"target-group-attributes", "slow_start.duration_seconds=40", "healthcheck-path", "/ok", "ssl-policy", "ELBSecurityPolicy-TLS13-1-2-2021-06"), "/=web"))
		p.restartAndSettle()
		p.applyAndSettle(webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", p.Seeded.Certs["example.com"], "security-groups", p.Seeded.ExtraSG), "/=web"))
	}},
	rights.ScenarioNodes: {run: func(p *permissionRun) {
		p.applyAndSettle(shop, strings.Replace(webIngress("", "/=web"), "target-type: ip", "target-type: instance", 1))
	}},
	rights.ScenarioPodNetworks: {isIndependent: true, run: func(p *permissionRun) {
		out, err := ec2.NewFromConfig(AWSConfig(p.Emulator)).CreateNetworkInterface(p.t.Context(), &ec2.CreateNetworkInterfaceInput{
			SubnetId: &p.Seeded.Private[0], Groups: []string{p.Seeded.ExtraSG},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		own := aws.ToString(out.NetworkInterface.PrivateIpAddress)
		eni := fmt.Sprintf(`annotations: {vpc.amazonaws.com/pod-eni: '[{"eniId":"%s","privateIp":"%s"}]'}, labels: {app: web}`, *out.NetworkInterface.NetworkInterfaceId, own)
		p.applyAndSettle(shop, strings.Replace(readyPods("web", own), "labels: {app: web}", eni, 1), webIngress("", "/=web"))
	}},
	rights.ScenarioSubnets: {run: func(p *permissionRun) {
		p.applyShop("scheme", "internet-facing", "subnets", strings.Join(p.Seeded.Public[:2], ","))
		p.applyAndSettle(webIngress(ingressAnnotations("scheme", "internet-facing", "subnets", strings.Join(p.Seeded.Public, ","), "ip-address-type", "dualstack"), "/=web"))
		// Without role tags, the controller reads route tables to find public subnets.
		_, err := ec2.NewFromConfig(AWSConfig(p.Emulator)).DeleteTags(p.t.Context(), &ec2.DeleteTagsInput{
			Resources: slices.Concat(p.Seeded.Public, p.Seeded.Private),
			Tags:      []ec2types.Tag{{Key: aws.String("kubernetes.io/role/elb")}, {Key: aws.String("kubernetes.io/role/internal-elb")}},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		p.Start()
		p.applyAndSettle(nlbService("mail", serviceAnnotations("aws-load-balancer-scheme", "internet-facing"), onePort))
	}},
	rights.ScenarioElasticIPs: {isIndependent: true, run: func(p *permissionRun) {
		p.applyAndSettle(shop, readyPods("mail", podAddresses[0]), nlbService("mail", serviceAnnotations("aws-load-balancer-scheme", "internet-facing",
			"aws-load-balancer-subnets", p.Seeded.Public[0], "aws-load-balancer-eip-allocations", p.Seeded.EIPs[0]), onePort))
	}},
	rights.ScenarioPeeredIPv6: {isIndependent: true, run: func(p *permissionRun) {
		six := strings.Replace(shop, "spec: {type: NodePort, selector: {app: web}", "spec: {type: NodePort, ipFamilies: [IPv6], selector: {app: web}", 1)
		p.applyAndSettle(six, strings.Replace(strings.ReplaceAll(readyPods("web", podAddresses[0]), podAddresses[0], "'2001:db8::7'"), "addressType: IPv4", "addressType: IPv6", 1),
			webIngress(ingressAnnotations("ip-address-type", "dualstack"), "/=web"))
	}},
	rights.ScenarioAddressPools: {isIndependent: true, run: func(p *permissionRun) {
		p.applyShop("customer-owned-ipv4-pool", "ipv4pool-coip-1")
		p.deleteIngressAndSettle()
		p.applyShop("scheme", "internet-facing", "ipam-ipv4-pool-id", "ipam-pool-1")
		p.applyAndSettle(webIngress(ingressAnnotations("scheme", "internet-facing", "ipam-ipv4-pool-id", "ipam-pool-2"), "/=web"))
	}},
	rights.ScenarioCognito: {isIndependent: true, run: func(p *permissionRun) {
		pool := fmt.Sprintf("arn:%s:cognito-idp:%s:%s:userpool/%[2]s_abc", p.Emulator.Store().AWSPartition().Name, RegionOf(p.Emulator), Account)
		p.applyShop("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", p.Seeded.Certs["example.com"], "auth-type", "cognito",
			"auth-idp-cognito", `{"userPoolARN":"`+pool+`","userPoolClientID":"c","userPoolDomain":"d"}`)
	}},
	rights.ScenarioIAMCertificate: {isIndependent: true, run: func(p *permissionRun) {
		p.applyShop("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", "arn:"+p.Emulator.Store().AWSPartition().Name+":iam::"+Account+":server-certificate/old")
	}},
	rights.ScenarioCertificates: {isIndependent: true, run: func(p *permissionRun) {
		// ListCertificates returns only the first hundred names of a certificate.
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
	rights.ScenarioTrustStores: {isIndependent: true, run: func(p *permissionRun) {
		_, err := elb.NewFromConfig(AWSConfig(p.Emulator)).CreateTrustStore(p.t.Context(), &elb.CreateTrustStoreInput{
			Name: aws.String("clients"), CaCertificatesBundleS3Bucket: aws.String("bucket"), CaCertificatesBundleS3Key: aws.String("ca.pem"),
		})
		if err != nil {
			p.t.Fatal(err)
		}
		p.applyShop("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", p.Seeded.Certs["example.com"],
			"mutual-authentication", `[{"port":443,"mode":"verify","trustStore":"clients"}]`)
	}},
	rights.ScenarioCapacity: {isIndependent: true, run: func(p *permissionRun) {
		p.applyShop("minimum-load-balancer-capacity", "CapacityUnits=3000")
	}},
	rights.ScenarioWebACLs: {isIndependent: true, run: func(p *permissionRun) {
		p.applyShop("wafv2-acl-name", "rig")
		p.restartAndSettle()
		p.applyAndSettle(webIngress(ingressAnnotations("wafv2-acl-arn", "none"), "/=web"))
	}},
	rights.ScenarioClassicWebACLs: {isIndependent: true, run: func(p *permissionRun) {
		out, err := wafregional.NewFromConfig(AWSConfig(p.Emulator)).CreateWebACL(p.t.Context(), &wafregional.CreateWebACLInput{
			Name: aws.String("classic"), MetricName: aws.String("classic"), ChangeToken: wafRegionalToken(p),
			DefaultAction: &waftypes.WafAction{Type: waftypes.WafActionTypeAllow},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		p.applyShop("waf-acl-id", *out.WebACL.WebACLId)
		p.restartAndSettle()
		p.applyAndSettle(webIngress(ingressAnnotations("waf-acl-id", "none"), "/=web"))
	}},
	rights.ScenarioProtection: {isIndependent: true, run: func(p *permissionRun) {
		p.applyShop("shield-advanced-protection", "true")
		p.restartAndSettle()
		p.applyAndSettle(webIngress(ingressAnnotations("shield-advanced-protection", "false"), "/=web"))
	}},
	rights.ScenarioRequestedCertificates: {isIndependent: true, features: []string{featureCertificates}, setUp: requestCertificates, run: func(p *permissionRun) {
		p.seedZones(30 * time.Second)
		p.applyShop("create-acm-cert", "true")
		p.applyAndSettle(ingressWithMoreHosts)
		p.applyAndSettle(webIngress(ingressAnnotations("certificate-arn", p.Seeded.Certs["example.com"]), "/=web"))
		p.Settle(2 * time.Hour)
	}},
	rights.ScenarioPrivateCA: {isIndependent: true, features: []string{featureCertificates}, setUp: requestCertificates, run: func(p *permissionRun) {
		ca := fmt.Sprintf("arn:%s:acm-pca:%s:%s:certificate-authority/00000000-0000-4000-8000-000000000001", p.Emulator.Store().AWSPartition().Name, RegionOf(p.Emulator), Account)
		p.applyShop("create-acm-cert", "true", "acm-pca-arn", ca)
	}},
	rights.ScenarioV1Resources: {isIndependent: true, features: []string{featureFirstGeneration}, run: func(p *permissionRun) {
		p.createV1Resources()
		p.Start()
		p.applyShop()
		p.deleteIngressAndSettle()
	}},
	rights.ScenarioImports: {isIndependent: true, features: []string{featureImports}, setUp: func(o *Options) { *o = importOptions(*o) }, run: func(p *permissionRun) {
		i := newIssuer(p.t)
		p.applyAndSettle(shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
		p.applyAndSettle(i.issue("shop", elliptic.P256(), "shop.example.com", "www.example.com"))
		p.restartAndSettle()
		p.applyAndSettle(withTLS(ingressAnnotations("certificate-arn", p.Seeded.Certs["example.com"]), "shop"))
		p.Settle(2 * time.Hour)
	}},
	rights.ScenarioTagging: {repeatedCall: "elasticloadbalancing:DescribeTags", features: []string{featureTagging}, setUp: func(o *Options) { o.TaggingLag = time.Second }, run: func(p *permissionRun) {
		api := elb.NewFromConfig(AWSConfig(p.Emulator))
		for i := range 25 { // more than one DescribeTags call accepts
			in := &elb.CreateLoadBalancerInput{Name: aws.String(fmt.Sprintf("foreign-%d", i)), Type: elbtypes.LoadBalancerTypeEnumNetwork,
				Scheme: elbtypes.LoadBalancerSchemeEnumInternal, Subnets: p.Seeded.Private[:1]}
			if _, err := api.CreateLoadBalancer(p.t.Context(), in); err != nil {
				p.t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		p.applyShop()
	}},
	rights.ScenarioOtherAccounts: {isIndependent: true, features: []string{featureRole}, run: func(p *permissionRun) {
		arn, vpc := createCrossAccountTargetGroup(p.t, p.Harness)
		theirs, err := emulated.Parse([]byte(otherAccountPolicy))
		if err != nil {
			p.t.Fatal(err)
		}
		w := p.Emulator.Store()
		w.Lock()
		w.PutRole(store.Role{ARN: roleARN, ExternalID: externalID, Trusted: []string{Account}, Policies: []emulated.Policy{theirs}})
		w.Unlock()
		p.applyAndSettle(shop, readyPods("web", podAddresses[:2]...), bindingTo(arn, "vpcID: "+vpc, "iamRoleArnToAssume: "+roleARN, "assumeRoleExternalId: "+externalID))
		p.restartAndSettle()
		p.applyAndSettle(readyPods("web", podAddresses[0]))
	}},
}

func wafRegionalToken(p *permissionRun) *string {
	p.t.Helper()
	out, err := wafregional.NewFromConfig(AWSConfig(p.Emulator)).GetChangeToken(p.t.Context(), &wafregional.GetChangeTokenInput{})
	if err != nil {
		p.t.Fatal(err)
	}
	return out.ChangeToken
}

// permissionResult is the result of a run of a permissionScenario.
type permissionResult struct {
	warnings []string
	used     map[authz.UsedPermission]int
	denied   map[string]int
	calls    map[string]int
	state    []string
	// unrelatedState has the lines of State about unrelatedIngress. It is empty if the scenario is not independent.
	unrelatedState []string
}

// runPermissionScenario runs a scenario in a partition without the permission action of statement sid, or with all
// permissions if sid is "".
func runPermissionScenario(t *testing.T, name rights.Scenario, partition, sid, action string) (out permissionResult) {
	t.Helper()
	s, ok := permissionScenarios[name]
	if !ok {
		t.Fatalf("there is no scenario %q", name)
	}
	synctest.Test(t, func(t *testing.T) {
		opt := Options{Policies: [][]byte{rights.PolicyWithoutAction(partition, sid, action, s.features...)}}
		opt.Emulator.Partition = partition
		if s.setUp != nil {
			s.setUp(&opt)
		}
		p := &permissionRun{Harness: shopWith(t, opt), t: t}
		if s.isIndependent {
			p.applyAndSettle(shop, strings.ReplaceAll(readyPods("plain", podAddresses[4]), "namespace: shop", "namespace: other"), unrelatedIngress)
		}
		s.run(p)
		if s.isIndependent {
			for _, line := range p.State() {
				if strings.Contains(line, "k8s-other-plain") {
					out.unrelatedState = append(out.unrelatedState, line)
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

// TestScenariosUseAllPermissions checks that each permission of the table is used by the scenario that it names, and
// that no scenario needs another permission.
func TestScenariosUseAllPermissions(t *testing.T) {
	t.Parallel()
	results := map[rights.Scenario]permissionResult{}
	for _, name := range slices.Sorted(maps.Keys(permissionScenarios)) {
		t.Run(string(name), func(t *testing.T) {
			out := runPermissionScenario(t, name, "aws", "", "")
			results[name] = out
			for denied := range out.denied {
				t.Error(denied)
			}
		})
	}
	for _, s := range rights.AWSStatements {
		if s.Feature == rights.DoctorCommand {
			continue // tests in internal/cli cover the doctor command
		}
		for _, a := range s.Actions {
			key := authz.UsedPermission{Sid: s.Sid, Action: a.Name}
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

// TestWithoutPermission runs scenarios without one of their permissions. It checks that a warning names the permission,
// and that an Ingress that does not need the permission is served. Ordinary test runs try every second permission.
func TestWithoutPermission(t *testing.T) {
	t.Parallel()
	// Many permissions have the same scenario. The result with all permissions is computed once for each scenario.
	var mu sync.Mutex
	results := map[rights.Scenario]permissionResult{}
	permitted := func(t *testing.T, name rights.Scenario) permissionResult {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		out, ok := results[name]
		if !ok {
			out = runPermissionScenario(t, name, "aws", "", "")
			results[name] = out
		}
		return out
	}
	for _, s := range rights.AWSStatements {
		if s.Feature == rights.DoctorCommand {
			continue
		}
		t.Run(s.Sid, func(t *testing.T) {
			t.Parallel()
			for _, a := range seeds.Spread(2, s.Actions) {
				t.Run(a.Name, func(t *testing.T) {
					out := runPermissionScenario(t, a.Scenario, "aws", s.Sid, a.Name)
					if call := permissionScenarios[a.Scenario].repeatedCall; call != "" {
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
						// Only a controller that imports certificates needs their tags, so no warning is expected.
						if all := permitted(t, a.Scenario); !cmp.Equal(all.state, out.state) || len(out.denied) == 0 {
							t.Errorf("(-with +without):\n%s\ndenied: %v", cmp.Diff(all.state, out.state), out.denied)
						}
						return
					}
					if !slices.ContainsFunc(out.warnings, func(w string) bool { return strings.Contains(w, a.Name) }) {
						t.Errorf("no finding names the permission; the warnings are %q", out.warnings)
					}
					if !permissionScenarios[a.Scenario].isIndependent {
						return
					}
					all := permitted(t, a.Scenario)
					if len(all.unrelatedState) < 4 {
						t.Fatalf("the other Ingress has only %q", all.unrelatedState)
					}
					if d := cmp.Diff(all.unrelatedState, out.unrelatedState); d != "" {
						t.Errorf("an Ingress that does not need the permission (-with +without):\n%s", d)
					}
				})
			}
		})
	}
}
