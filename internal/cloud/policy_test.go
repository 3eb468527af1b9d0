package cloud

import (
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/config/iam"
)

// sources are the files of this package and its subpackages.
//
//go:embed *
var sources embed.FS

// additionalActions are actions that IAM policies must allow although the controller does not call them. AWS requires them
// for resources to which a call refers: VPCs, certificates, web ACLs and user pools.
var additionalActions = []string{
	"acm:AddTagsToCertificate",                                                      // RequestCertificate and ImportCertificate with tags
	"acm-pca:GetCertificate", "acm-pca:IssueCertificate", "acm-pca:ListPermissions", // RequestCertificate with a private CA
	"cognito-idp:DescribeUserPoolClient", "ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeCoipPools",
	"ec2:DescribeInternetGateways", "ec2:DescribeIpamPools", "ec2:DescribeVpcPeeringConnections", "ec2:GetCoipPoolUsage",
	"ec2:GetSecurityGroupsForVpc", "elasticloadbalancing:SetWebAcl", "iam:CreateServiceLinkedRole", "iam:GetServerCertificate",
	"iam:ListServerCertificates", "waf-regional:GetWebACL", "wafv2:GetWebACL",
}

// TestPoliciesAllowTheCallsOfThisPackage checks that the IAM policies in config/iam allow exactly the calls of this package
// and its subpackages, and the additionalActions.
func TestPoliciesAllowTheCallsOfThisPackage(t *testing.T) {
	services := map[string]string{
		"acm": "acm", "ec2": "ec2", "elb": "elasticloadbalancing", "shield": "shield", "sts": "sts", "waf": "waf-regional",
		"wafv2": "wafv2", "tagging": "tag", "route53": "route53", "dns": "route53", "accelerators": "globalaccelerator", "ga": "globalaccelerator", "api": "elasticloadbalancing", // of the account of a role
	}
	call := regexp.MustCompile(`\b(?:(?:api|API)\.)?(\w+)\.((?:New)?[A-Z]\w+)\(`)
	used := map[string]bool{}
	for _, a := range additionalActions {
		used[a] = true
	}
	err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && name == "checks" {
			return fs.SkipDir // the command doctor makes these calls with the permissions of its user
		}
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range call.FindAllStringSubmatch(string(source), -1) {
			operation, paged := strings.CutPrefix(m[2], "New")
			operation = strings.TrimSuffix(operation, "Paginator")
			if paged && !strings.HasSuffix(m[2], "Paginator") || !paged && !strings.Contains(strings.ToLower(m[0]), "api.") || strings.HasPrefix(operation, "Error") {
				continue
			}
			service := services[strings.ToLower(m[1])]
			if service == "" {
				t.Errorf("%s: call %s has no service in the table of this test", name, m[0])
			}
			used[service+":"+operation] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	for _, p := range [][]byte{iam.Policy, iam.OptionalPolicy, iam.AcceleratorsPolicy} {
		var policy struct {
			Statement []struct{ Action any }
		}
		if err := json.Unmarshal(p, &policy); err != nil {
			t.Fatal(err)
		}
		for _, s := range policy.Statement {
			switch a := s.Action.(type) {
			case string:
				granted[a] = true
			case []any:
				for _, one := range a {
					granted[one.(string)] = true
				}
			}
		}
	}
	delete(granted, "iam:SimulatePrincipalPolicy") // only the command doctor calls it
	if d := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(granted))); d != "" {
		t.Errorf("the policies of config/iam (-used +granted):\n%s", d)
	}
}
