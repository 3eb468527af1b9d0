package rights_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

//go:generate go test -run TestFilesAreUpToDate . -update

// generatedFiles returns the expected content of the generated files, by relative path.
func generatedFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{"../iam/optional.json": rights.OptionalPolicy(), "../iam/" + rights.TargetsFile: rights.TargetsPolicy("aws"), "../rbac/serviceaccount.yaml": rights.ServiceAccountFile(),
		"../iam/" + rights.AcceleratorsFile: rights.AcceleratorPolicy("", "")}
	for _, p := range rights.Partitions {
		out["../iam/"+rights.PolicyFile(p)] = rights.Policy(p)
	}
	for _, f := range rights.RoleFiles() {
		out["../rbac/"+f] = rights.RoleFile(f)
	}
	const page = "../../docs/permissions.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := bytes.Cut(text, []byte("## Permissions in AWS\n"))
	if !found {
		t.Fatalf("%s has no place for the tables", page)
	}
	out[page] = append(bytes.Clone(before), rights.PermissionTables()...)
	return out
}

func TestFilesAreUpToDate(t *testing.T) {
	want := generatedFiles(t)
	for name, content := range want {
		goldentest.CompareFile(t, name, string(content))
	}
	for _, pattern := range []string{"../iam/*.json", "../rbac/*.yaml"} {
		there, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range there {
			if _, ok := want[f]; !ok {
				t.Errorf("%s is not in the table", f)
			}
		}
	}
}

// TestPoliciesFitSizeLimit checks that each policy fits the limit of a managed policy: 6,144 characters without white space.
func TestPoliciesFitSizeLimit(t *testing.T) {
	all := map[string][]byte{"accelerators": rights.AcceleratorPolicy("", ""), "optional permissions": rights.OptionalPolicy()}
	for _, p := range rights.Partitions {
		all[p] = rights.Policy(p)
		all["targets only, "+p] = rights.TargetsPolicy(p)
	}
	for p, policy := range all {
		var small bytes.Buffer
		if err := json.Compact(&small, policy); err != nil {
			t.Fatal(err)
		}
		if n := small.Len(); n > 6144 {
			t.Errorf("the policy of %s has %d characters", p, n)
		}
	}
}

// TestPoliciesOfPartitionsAreEqual checks that the policies of the partitions differ only in the partition of their ARNs,
// and that no ARN in the optional policy names a partition.
func TestPoliciesOfPartitionsAreEqual(t *testing.T) {
	arn := regexp.MustCompile(`"arn:([a-z-]+):`)
	plain := func(p string) string {
		for _, m := range arn.FindAllSubmatch(rights.Policy(p), -1) {
			if string(m[1]) != p {
				t.Errorf("the policy of %s has an ARN of %s", p, m[1])
			}
		}
		return arn.ReplaceAllString(string(rights.Policy(p)), `"arn:P:`)
	}
	for _, p := range rights.Partitions[1:] {
		if d := cmp.Diff(plain(rights.Partitions[0]), plain(p)); d != "" {
			t.Errorf("%s:\n%s", p, d)
		}
	}
	if regexp.MustCompile(`arn:[^*]`).Match(rights.OptionalPolicy()) {
		t.Error("the statements of the features have ARNs of a partition, so that they differ between partitions")
	}
}

// TestTargetsPageListsPolicy checks that docs/targets-only.md lists exactly the actions of rights.TargetActions, and that
// rights.TargetsPolicy has these actions.
func TestTargetsPageListsPolicy(t *testing.T) {
	text, err := os.ReadFile("../../docs/targets-only.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9]+:[A-Za-z]+)` \\|").FindAllSubmatch(text, -1) {
		listed = append(listed, string(row[1]))
	}
	if d := cmp.Diff(rights.TargetActions(), listed); d != "" {
		t.Errorf("actions (-policy +page):\n%s", d)
	}
	for _, a := range rights.TargetActions() {
		if !bytes.Contains(rights.TargetsPolicy("aws"), []byte(`"`+a+`"`)) {
			t.Errorf("the policy lacks %s", a)
		}
	}
}

func TestPermissionsHaveReasonAndTest(t *testing.T) {
	sids, names := map[string]bool{}, map[string]bool{}
	for _, s := range slices.Concat(rights.AWSStatements, rights.AcceleratorStatements) {
		if sids[s.Sid] || !regexp.MustCompile(`^[A-Za-z0-9]+$`).MatchString(s.Sid) {
			t.Errorf("statement id %q is taken, or has other characters than letters and digits", s.Sid)
		}
		sids[s.Sid] = true
		for i, a := range s.Actions {
			if a.Reason == "" || a.Scenario == "" || strings.HasSuffix(a.Reason, ".") {
				t.Errorf("%s %s: why %q, tested by %q", s.Sid, a.Name, a.Reason, a.Scenario)
			}
			if i > 0 && s.Actions[i-1].Name >= a.Name {
				t.Errorf("%s: %s is not in order", s.Sid, a.Name)
			}
		}
	}
	for _, r := range rights.KubernetesRoles {
		for _, rule := range r.Rules {
			if rule.Reason == "" {
				t.Errorf("%s %v: no reason", r.Name, rule.Resources)
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					name := r.Name + "/" + resource + "/" + verb
					if names[name] && verb != "create" {
						t.Errorf("%s is there twice", name)
					}
					names[name] = true
				}
			}
		}
	}
}

// verbsOfLBC has the verbs that the roles of aws-load-balancer-controller v3.5.0 permit, by API group and resources.
var verbsOfLBC = map[string]map[string]string{
	"": {
		"configmaps": "create delete get update", "endpoints namespaces nodes pods": "get list watch", "events": "create patch",
		"pods/status services/status": "patch update", "services": "get list patch update watch",
	},
	"discovery.k8s.io":  {"endpointslices": "get list watch"},
	"networking.k8s.io": {"ingresses": "get list patch update watch", "ingresses/status": "patch update", "ingressclasses": "get list watch"},
	"elbv2.k8s.aws": {
		"targetgroupbindings": "create delete get list patch update watch", "targetgroupbindings/status": "patch update",
		"ingressclassparams": "get list watch", "albtargetcontrolconfigs": "get",
	},
	"aga.k8s.aws": {"globalaccelerators": "get list patch watch", "globalaccelerators/status": "patch update"},
	"gateway.k8s.aws": {
		"listenerruleconfigurations loadbalancerconfigurations targetgroupconfigurations":                      "get list patch watch",
		"listenerruleconfigurations/status loadbalancerconfigurations/status targetgroupconfigurations/status": "get patch update",
	},
	"gateway.networking.k8s.io": {
		"gatewayclasses gateways referencegrants":                          "get list patch watch",
		"grpcroutes httproutes listenersets tcproutes tlsroutes udproutes": "get list watch",
		"gatewayclasses/status gateways/status grpcroutes/status httproutes/status listenersets/status tcproutes/status tlsroutes/status udproutes/status": "get patch update",
	},
	"coordination.k8s.io": {"leases": "create get patch update"},
}

// TestRolesOfLBCSuffice checks that the controller needs no permission that aws-load-balancer-controller does not have,
// because another image may run with its roles. It works without the permissions that are left out here.
func TestRolesOfLBCSuffice(t *testing.T) {
	allowed := map[string]bool{}
	for group, table := range verbsOfLBC {
		for resources, verbs := range table {
			for _, resource := range strings.Fields(resources) {
				for _, verb := range strings.Fields(verbs) {
					allowed[group+" "+resource+" "+verb] = true
				}
			}
		}
	}
	for _, r := range rights.KubernetesRoles {
		for _, rule := range r.Rules {
			for _, resource := range rule.Resources {
				if resource == "secrets" || rule.Group == "apiextensions.k8s.io" || rule.Group == "admissionregistration.k8s.io" {
					continue
				}
				for _, verb := range rule.Verbs {
					if !allowed[rule.Group+" "+resource+" "+verb] {
						t.Errorf("%s: aws-load-balancer-controller may not %s %s of %q", r.Name, verb, resource, rule.Group)
					}
				}
			}
		}
	}
}

// actionsOfLBC has the actions that the policy of aws-load-balancer-controller v3.5.0 permits, by service.
var actionsOfLBC = map[string]string{
	"acm":         "DescribeCertificate ListCertificates",
	"cognito-idp": "DescribeUserPoolClient",
	"ec2": "AuthorizeSecurityGroupIngress CreateSecurityGroup CreateTags DeleteSecurityGroup DeleteTags DescribeAccountAttributes DescribeAddresses " +
		"DescribeAvailabilityZones DescribeCoipPools DescribeInstances DescribeInternetGateways DescribeIpamPools DescribeNetworkInterfaces DescribeRouteTables " +
		"DescribeSecurityGroups DescribeSubnets DescribeTags DescribeVpcPeeringConnections DescribeVpcs GetCoipPoolUsage GetSecurityGroupsForVpc RevokeSecurityGroupIngress",
	"elasticloadbalancing": "AddListenerCertificates AddTags CreateListener CreateLoadBalancer CreateRule CreateTargetGroup DeleteListener DeleteLoadBalancer DeleteRule " +
		"DeleteTargetGroup DeregisterTargets DescribeCapacityReservation DescribeListenerAttributes DescribeListenerCertificates DescribeListeners DescribeLoadBalancerAttributes " +
		"DescribeLoadBalancers DescribeRules DescribeSSLPolicies DescribeTags DescribeTargetGroupAttributes DescribeTargetGroups DescribeTargetHealth DescribeTrustStores " +
		"ModifyCapacityReservation ModifyIpPools ModifyListener ModifyListenerAttributes ModifyLoadBalancerAttributes ModifyRule ModifyTargetGroup ModifyTargetGroupAttributes " +
		"RegisterTargets RemoveListenerCertificates RemoveTags SetIpAddressType SetRulePriorities SetSecurityGroups SetSubnets SetWebAcl",
	"iam":          "CreateServiceLinkedRole GetServerCertificate ListServerCertificates",
	"shield":       "CreateProtection DeleteProtection DescribeProtection GetSubscriptionState",
	"waf-regional": "AssociateWebACL DisassociateWebACL GetWebACL GetWebACLForResource",
	"wafv2":        "AssociateWebACL DisassociateWebACL GetWebACL GetWebACLForResource",
}

// TestPolicyOfLBCSuffices checks that policy.json has only two actions that the policy of aws-load-balancer-controller does
// not have, because another image may run with its IAM role. The controller works without these two.
func TestPolicyOfLBCSuffices(t *testing.T) {
	var more []string
	for _, s := range rights.AWSStatements {
		for _, a := range s.Actions {
			service, action, _ := strings.Cut(a.Name, ":")
			if s.Feature == "" && !slices.Contains(strings.Fields(actionsOfLBC[service]), action) {
				more = append(more, a.Name)
			}
		}
	}
	if d := cmp.Diff([]string{"acm:ListTagsForCertificate", "wafv2:ListWebACLs"}, more); d != "" {
		t.Errorf("actions that only this controller needs (-want +got):\n%s", d)
	}
}
