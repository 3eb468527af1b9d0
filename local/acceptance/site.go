package acceptance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/recording"
)

// clusterNetwork is the AWS network of the cluster's nodes.
type clusterNetwork struct {
	recording.Site
	account    string
	kubernetes string // version of Kubernetes
	// publicSubnets are the subnets of the run: public subnets in different zones, at most three.
	publicSubnets []string
	// securityGroups are the security groups to which the run adds the tag of its cluster. For each node with several
	// security groups, this is the security group that already has the tag of a cluster.
	securityGroups []string
}

// readClusterNetwork reads the account and the network of the run, and returns an error if the run cannot use them.
func (r *run) readClusterNetwork(ctx context.Context) error {
	r.proxy.setPart("look")
	version, err := r.kube.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("read the version of the cluster of context %q: %w", r.Context, err)
	}
	r.site.kubernetes = version.GitVersion
	if err := r.checkNoOtherController(ctx); err != nil {
		return err
	}
	caller, err := sts.NewFromConfig(r.proxy.config()).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return fmt.Errorf("read the account of the AWS credentials: %w", err)
	}
	r.site.account = aws.ToString(caller.Account)
	if r.state.Account != "" && r.state.Account != r.site.account {
		return fmt.Errorf("run %q was started in account %s, but the current credentials belong to account %s; use credentials of account %s, so that the resources of the run can be deleted", r.state.Run, r.state.Account, r.site.account, r.state.Account)
	}
	r.state.Account = r.site.account
	nodes, err := r.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	if err := r.site.readNetwork(ctx, ec2.NewFromConfig(r.proxy.config()), nodes.Items); err != nil {
		return err
	}
	return r.saveState()
}

// leaseName is the name of the Lease of Fulcrum and of aws-load-balancer-controller.
const leaseName = "aws-load-balancer-controller-leader"

// checkNoOtherController returns an error if another controller runs in the cluster, since both would write the same
// TargetGroupBindings and classes.
func (r *run) checkNoOtherController(ctx context.Context) error {
	list, err := r.kube.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + leaseName})
	if err != nil {
		return fmt.Errorf("list Leases, to see whether a controller for AWS load balancers runs already: %w", err)
	}
	for _, l := range list.Items {
		at := l.Spec.RenewTime
		if l.Namespace != r.state.Run && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && at != nil && time.Since(at.Time) < 2*time.Minute {
			return fmt.Errorf("a controller for AWS load balancers runs in this cluster (Lease %s/%s), and two would write the same objects; use a cluster without one", l.Namespace, l.Name)
		}
	}
	return nil
}

// readNetwork reads instances, VPC, subnets and security groups of the nodes.
func (s *clusterNetwork) readNetwork(ctx context.Context, api *ec2.Client, nodes []corev1.Node) error {
	var ids []string
	for _, n := range nodes {
		if id := n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:]; strings.HasPrefix(id, "i-") {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return fmt.Errorf("none of the %d nodes of the cluster is an EC2 instance by its spec.providerID", len(nodes))
	}
	slices.Sort(ids)
	ids = ids[:min(len(ids), 100)]
	out, err := api.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
	if err != nil {
		return fmt.Errorf("describe the EC2 instances of the nodes; check that --region is the region of the cluster: %w", err)
	}
	var vpc string
	for _, reservation := range out.Reservations {
		for _, i := range reservation.Instances {
			at := recording.Instance{ID: aws.ToString(i.InstanceId), Subnet: aws.ToString(i.SubnetId), Address: aws.ToString(i.PrivateIpAddress)}
			for _, g := range i.SecurityGroups {
				at.SecurityGroups = append(at.SecurityGroups, aws.ToString(g.GroupId))
			}
			s.Instances = append(s.Instances, at)
			if vpc != "" && vpc != aws.ToString(i.VpcId) {
				return errors.New("the nodes are in several VPCs; a load balancer can have targets in only one")
			}
			vpc = aws.ToString(i.VpcId)
		}
	}
	s.VPC = vpc
	if err := s.readSubnets(ctx, api); err != nil {
		return err
	}
	return s.selectSecurityGroups(ctx, api)
}

// readSubnets reads the VPC and its subnets, and selects public ones.
func (s *clusterNetwork) readSubnets(ctx context.Context, api *ec2.Client) error {
	in := []types.Filter{{Name: aws.String("vpc-id"), Values: []string{s.VPC}}}
	vpcs, err := api.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{s.VPC}})
	if err != nil {
		return fmt.Errorf("describe VPC %s: %w", s.VPC, err)
	}
	for _, v := range vpcs.Vpcs {
		for _, b := range v.CidrBlockAssociationSet {
			s.CIDRs = append(s.CIDRs, aws.ToString(b.CidrBlock))
		}
	}
	tables, err := api.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: in})
	if err != nil {
		return fmt.Errorf("describe the route tables of %s: %w", s.VPC, err)
	}
	subnets, err := api.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: in})
	if err != nil {
		return fmt.Errorf("describe the subnets of %s: %w", s.VPC, err)
	}
	slices.SortFunc(subnets.Subnets, func(a, b types.Subnet) int {
		return strings.Compare(aws.ToString(a.SubnetId), aws.ToString(b.SubnetId))
	})
	zones := map[string]bool{}
	for _, n := range subnets.Subnets {
		id, zone := aws.ToString(n.SubnetId), aws.ToString(n.AvailabilityZone)
		public := isPublicSubnet(tables.RouteTables, id)
		s.Subnets = append(s.Subnets, recording.Subnet{ID: id, CIDR: aws.ToString(n.CidrBlock), Zone: zone, Public: public})
		if public && !zones[zone] && len(zones) < 3 && aws.ToInt32(n.AvailableIpAddressCount) >= 8 {
			zones[zone] = true
			s.publicSubnets = append(s.publicSubnets, id)
		}
	}
	if len(s.publicSubnets) < 2 {
		return fmt.Errorf("VPC %s has public subnets with 8 free addresses in %d zones; an Application Load Balancer that this machine can reach needs two", s.VPC, len(s.publicSubnets))
	}
	return nil
}

// isPublicSubnet reports whether the route table of a subnet has an IPv4 default route to an internet gateway. A subnet
// without a route table uses the main route table of the VPC.
func isPublicSubnet(tables []types.RouteTable, subnet string) bool {
	var own, main *types.RouteTable
	for i, t := range tables {
		for _, a := range t.Associations {
			if aws.ToString(a.SubnetId) == subnet {
				own = &tables[i]
			}
			if aws.ToBool(a.Main) {
				main = &tables[i]
			}
		}
	}
	if own == nil {
		own = main
	}
	return own != nil && slices.ContainsFunc(own.Routes, func(t types.Route) bool {
		return strings.HasPrefix(aws.ToString(t.GatewayId), "igw-") && aws.ToString(t.DestinationCidrBlock) == "0.0.0.0/0"
	})
}

// clusterTag is the prefix of a tag key; the name of a cluster follows. If a node has several security groups, the
// controller of the cluster adds rules to the one with this tag.
const clusterTag = "kubernetes.io/cluster/"

// selectSecurityGroups sets securityGroups. It returns an error if a node has several security groups, and not exactly
// one of them has the tag of a cluster.
func (s *clusterNetwork) selectSecurityGroups(ctx context.Context, api *ec2.Client) error {
	candidates := map[string]bool{}
	for _, i := range s.Instances {
		if len(i.SecurityGroups) > 1 {
			for _, g := range i.SecurityGroups {
				candidates[g] = true
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	out, err := api.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: slices.Sorted(maps.Keys(candidates))})
	if err != nil {
		return fmt.Errorf("describe the security groups of the nodes: %w", err)
	}
	tagged := map[string]bool{}
	for _, g := range out.SecurityGroups {
		tagged[aws.ToString(g.GroupId)] = slices.ContainsFunc(g.Tags, func(t types.Tag) bool { return strings.HasPrefix(aws.ToString(t.Key), clusterTag) })
	}
	for _, i := range s.Instances {
		if len(i.SecurityGroups) < 2 {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(i.SecurityGroups), func(g string) bool { return !tagged[g] })
		if len(of) != 1 {
			return fmt.Errorf("instance %s has %d security groups, of which %d have a tag %sNAME; exactly one must have it: the security group to which rules for load balancers are added", i.ID, len(i.SecurityGroups), len(of), clusterTag)
		}
		if !slices.Contains(s.securityGroups, of[0]) {
			s.securityGroups = append(s.securityGroups, of[0])
		}
	}
	return nil
}
