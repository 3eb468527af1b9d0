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

// List prices in US dollars an hour in us-east-1; other regions differ by up to a half.
// https://aws.amazon.com/elasticloadbalancing/pricing and https://aws.amazon.com/vpc/pricing
const (
	priceOfBalancer = 0.0225
	priceOfAddress  = 0.005
)

// ownPermissions are those of the run itself, beside those of the controller.
var ownPermissions = []string{
	"sts:GetCallerIdentity",
	"ec2:DescribeInstances", "ec2:DescribeVpcs", "ec2:DescribeSubnets", "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups",
	"ec2:CreateTags", "ec2:DeleteTags", "ec2:DeleteSecurityGroup",
	"elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeRules",
	"elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTags",
	"elasticloadbalancing:DeleteRule", "elasticloadbalancing:DeleteLoadBalancer", "elasticloadbalancing:DeleteTargetGroup",
	"acm:ListCertificates", "acm:ListTagsForCertificate", "acm:DeleteCertificate",
}

// ask shows what the run will make, what that costs and which rights it needs, and asks.
func (r *run) ask(resumed bool) error {
	chosen := chosen(r.Parts)
	most := 0
	r.say("")
	if resumed {
		r.say("The run %s of %s was cut off; this goes on with it, and then removes everything.", r.state.Run, r.state.At.Format("2006-01-02 15:04"))
	}
	r.say("Account %s, region %s, VPC %s; cluster of context %q, Kubernetes %s.", r.site.account, r.Region, r.site.VPC, r.Context, r.site.kubernetes)
	r.say("This runs %s on this machine as the cluster %q, for one namespace of the same name.", r.Controller, r.state.Run)
	r.say("\nParts:")
	for _, p := range chosen {
		most += p.balancers
		r.say("  %-12s %s", p.name, p.about)
	}
	r.say("\nIt makes:")
	r.say("  in AWS         at most %d load balancers that the internet reaches, in %s, with target groups and security", most, strings.Join(r.site.public, ", "))
	r.say("                 groups, rules in the security groups of the nodes, an imported certificate; all tagged %s=%s", runTag, r.state.Run)
	if len(r.site.chosen) > 0 {
		r.say("                 the tag %s%s on %s", clusterTag, r.state.Run, strings.Join(r.site.chosen, ", "))
	}
	r.say("  in Kubernetes  namespace, IngressClass annotation and GatewayClass %s, 2 pods with the image %s,", r.state.Run, r.Image)
	r.say("                 and the definitions of Fulcrum and Gateway API where they are missing")
	hour := float64(most) * (priceOfBalancer + priceOfAddress*float64(len(r.site.public)))
	r.say("\nIt costs about %.2f USD an hour while all exist, by list prices of us-east-1 without traffic, and takes 15 to 40 minutes.", hour)
	policy, err := actions(r.Region)
	if err != nil {
		return err
	}
	r.say("\nIt needs the right to make namespaces, definitions and all kinds in its namespace, to read nodes and Leases, and in AWS:")
	r.say("  the controller  config/iam/policy.json and, for certificates, config/iam/optional.json (%d actions)", policy)
	r.say("  the run         %s", strings.Join(ownPermissions, ", "))
	r.say("\nIn the end it removes all of this and looks whether anything is left. State, report and recording: %s", r.dir)
	if r.Yes {
		return nil
	}
	fmt.Fprint(r.Out, "\nGo on? Only \"yes\" does: ")
	answer, _ := bufio.NewReader(r.In).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return ErrDeclined
	}
	return nil
}

// actions counts those of the controller's policies in a region.
func actions(region string) (int, error) {
	first, err := iam.PolicyOf(store.AWSPartitionOf(region).Name)
	if err != nil {
		return 0, err
	}
	var all []string
	for _, text := range [][]byte{first, iam.Optional} {
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
