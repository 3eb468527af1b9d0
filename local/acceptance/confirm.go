package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/config/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// List prices in US dollars per hour in us-east-1. Prices in other regions differ by up to 50 percent.
// https://aws.amazon.com/elasticloadbalancing/pricing and https://aws.amazon.com/vpc/pricing
const (
	loadBalancerPrice = 0.0225
	addressPrice      = 0.005
)

// runPermissions are the AWS permissions that the run needs in addition to those of the controller.
var runPermissions = []string{
	"sts:GetCallerIdentity",
	"ec2:DescribeInstances", "ec2:DescribeVpcs", "ec2:DescribeSubnets", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups",
	"ec2:CreateTags", "ec2:DeleteTags", "ec2:DeleteSecurityGroup",
	"elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeRules",
	"elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTags",
	"elasticloadbalancing:DeleteRule", "elasticloadbalancing:DeleteLoadBalancer", "elasticloadbalancing:DeleteTargetGroup",
	"acm:ListCertificates", "acm:ListTagsForCertificate", "acm:DeleteCertificate",
}

// confirm prints what the run will create, its cost and the permissions that it needs, and asks the user to confirm.
func (r *run) confirm(resumed bool) error {
	parts := partsByName(r.Parts)
	maxLoadBalancers := 0
	r.printf("")
	if resumed {
		r.printf("The run %s of %s was interrupted; this command continues it, and then removes everything.", r.state.Run, r.state.StartedAt.Format("2006-01-02 15:04"))
	}
	r.printf("Account %s, region %s, VPC %s; cluster of context %q, Kubernetes %s.", r.site.account, r.Region, r.site.VPC, r.Context, r.site.kubernetes)
	r.printf("This runs %s on this machine as the cluster %q, for one namespace of the same name.", r.Controller, r.state.Run)
	r.printf("\nParts:")
	for _, p := range parts {
		maxLoadBalancers += p.loadBalancers
		r.printf("  %-12s %s", p.name, p.description)
	}
	r.printf("\nThe run creates:")
	r.printf("  in AWS         at most %d internet-facing load balancers, in %s, with target groups and security", maxLoadBalancers, strings.Join(r.site.publicSubnets, ", "))
	r.printf("                 groups, rules in the security groups of the nodes, an imported certificate; all tagged %s=%s", runTag, r.state.Run)
	if len(r.site.securityGroups) > 0 {
		r.printf("                 the tag %s%s on %s", clusterTag, r.state.Run, strings.Join(r.site.securityGroups, ", "))
	}
	r.printf("  in Kubernetes  namespace, IngressClass annotation and GatewayClass %s, 2 pods with the image %s,", r.state.Run, r.Image)
	r.printf("                 and the CRDs of Fulcrum and Gateway API that are missing")
	hour := float64(maxLoadBalancers) * (loadBalancerPrice + addressPrice*float64(len(r.site.publicSubnets)))
	r.printf("\nThe run costs about %.2f USD an hour while all resources exist, by list prices of us-east-1 without traffic, and takes 15 to 40 minutes.", hour)
	policy, err := countIAMActions(r.Region)
	if err != nil {
		return err
	}
	r.printf("\nThe run needs permission to create namespaces, CRDs and all kinds of objects in its namespace, to read nodes and Leases, and in AWS:")
	r.printf("  the controller  config/iam/policy.json and, for certificates, config/iam/optional.json (%d actions)", policy)
	r.printf("  the run         %s", strings.Join(runPermissions, ", "))
	r.printf("\nAt the end the run removes all of this and checks that nothing is left. State, report and recording: %s", r.dir)
	if r.AssumeYes {
		return nil
	}
	fmt.Fprint(r.Out, "\nContinue? Only \"yes\" is accepted: ")
	answer, _ := bufio.NewReader(r.In).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return ErrDeclined
	}
	return nil
}

// countIAMActions returns the number of actions in the controller's IAM policies for a region.
func countIAMActions(region string) (int, error) {
	first, err := iam.PolicyForPartition(store.AWSPartitionOfRegion(region).Name)
	if err != nil {
		return 0, err
	}
	var all []string
	for _, text := range [][]byte{first, iam.OptionalPolicy} {
		var policy struct {
			Statement []struct{ Action any } // one or a list
		}
		if err := json.Unmarshal(text, &policy); err != nil {
			return 0, err
		}
		for _, s := range policy.Statement {
			switch a := s.Action.(type) {
			case string:
				all = append(all, a)
			case []any:
				for _, one := range a {
					all = append(all, fmt.Sprint(one))
				}
			}
		}
	}
	slices.Sort(all)
	return len(slices.Compact(all)), nil
}
