package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/glob"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// networkFacts reads subnets, the types of their Availability Zones, and their routes.
type networkFacts struct {
	*sdk.Client
	vpcSubnets      *sdk.Answers[[]observed.Subnet] // the subnets of the cluster's VPC
	otherVPCSubnets *sdk.Answers[*observed.Subnet]  // a subnet of another VPC; nil if it does not exist
	publicByID      *sdk.Answers[map[string]bool]   // whether a subnet has a route to an internet gateway, by subnet ID

	cache.Guard
	zoneTypes map[string]string // by Availability Zone ID; a type never changes
}

func newNetworkFacts(client *sdk.Client) *networkFacts {
	return &networkFacts{
		Client: client, vpcSubnets: sdk.NewAnswers[[]observed.Subnet](client), otherVPCSubnets: sdk.NewAnswers[*observed.Subnet](client), publicByID: sdk.NewAnswers[map[string]bool](client),
	}
}

func (n *networkFacts) reset() {
	n.vpcSubnets.Expire()
	n.otherVPCSubnets.Expire()
	n.publicByID.Expire()
	n.WithLock(func() { n.zoneTypes = map[string]string{} })
}

// lookUpSubnets finds the subnets that q selects. One call reads all subnets of the VPC for the questions of all stacks. If
// no subnet is selected, or a named subnet is missing, lookUpSubnets reads the subnets again, unless they were read within
// durations.NotFoundAge.
func (n *networkFacts) lookUpSubnets(ctx context.Context, q model.AskSubnets, maxAge time.Duration) (observed.SubnetAnswer, error) {
	for {
		all, err := n.subnets(ctx, maxAge)
		if err != nil {
			return observed.SubnetAnswer{}, err
		}
		out, err := n.matchSubnets(ctx, q, all, maxAge)
		if err != nil {
			return observed.SubnetAnswer{}, err
		}
		if (len(out.Missing) == 0 && len(out.Candidates) > 0) || maxAge <= durations.NotFoundAge {
			return out, nil
		}
		maxAge = durations.NotFoundAge
	}
}

func (n *networkFacts) matchSubnets(ctx context.Context, q model.AskSubnets, all []observed.Subnet, maxAge time.Duration) (observed.SubnetAnswer, error) {
	var out observed.SubnetAnswer
	pick := func(condition func(observed.Subnet) bool) {
		for _, s := range all {
			if condition(s) {
				out.Candidates = append(out.Candidates, s)
			}
		}
	}
	switch choice := q.Choice.(type) {
	case model.SubnetsNamed:
		return n.findNamedSubnets(ctx, choice.Refs, all)
	case model.SubnetsTagged:
		pick(func(s observed.Subnet) bool { return hasTags(s.Tags, choice.Tags) })
	default:
		role := map[string][]string{naming.SubnetRolePublic: {"", "1"}}
		if q.Discover == model.Internal {
			role = map[string][]string{naming.SubnetRoleInternal: {"", "1"}}
		}
		pick(func(s observed.Subnet) bool { return hasTags(s.Tags, role) })
		if len(out.Candidates) > 0 || !n.Config.SubnetDiscoveryByReachability {
			return out, nil
		}
		public, err := n.publicSubnets(ctx, all, maxAge)
		if err != nil {
			return out, err
		}
		out.ByReachability = true
		pick(func(s observed.Subnet) bool { return public[s.ID] == (q.Discover == model.InternetFacing) })
	}
	return out, nil
}

// findNamedSubnets finds subnets by ID in any VPC, or by name in the VPC of the cluster. all has the subnets of the VPC of
// the cluster.
func (n *networkFacts) findNamedSubnets(ctx context.Context, refs []string, all []observed.Subnet) (observed.SubnetAnswer, error) {
	var out observed.SubnetAnswer
	add := func(s observed.Subnet) {
		if !slices.ContainsFunc(out.Candidates, func(o observed.Subnet) bool { return o.ID == s.ID }) {
			out.Candidates = append(out.Candidates, s)
		}
	}
	for _, r := range refs {
		found := false
		for _, s := range all {
			byID := strings.HasPrefix(r, "subnet-")
			if byID && s.ID == r || !byID && s.Name == r {
				add(s)
				found = true
			}
		}
		if !found && strings.HasPrefix(r, "subnet-") {
			s, err := n.subnetOfOtherVPC(ctx, r)
			if err != nil {
				return out, err
			}
			if s != nil {
				add(*s)
				found = true
			}
		}
		if !found && !slices.Contains(out.Missing, r) {
			out.Missing = append(out.Missing, r)
		}
	}
	return out, nil
}

// hasTags reports whether tags contain each key of filter with one of its values. A key without values matches any value.
// Values of filter may contain the wildcards * and ?, as in filters of the EC2 API.
func hasTags(tags map[string]string, filter map[string][]string) bool {
	for k, values := range filter {
		value, ok := tags[k]
		if !ok || len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return glob.Match(v, value, glob.AllEscapes) }) {
			return false
		}
	}
	return true
}

// subnets returns all subnets of the VPC with the types of their Availability Zones, sorted by ID.
func (n *networkFacts) subnets(ctx context.Context, maxAge time.Duration) ([]observed.Subnet, error) {
	all, err := n.vpcSubnets.Get(ctx, "subnets", maxAge, func(ctx context.Context) ([]observed.Subnet, error) {
		return n.readSubnets(ctx, "vpc-id", n.VPC)
	})
	if err != nil {
		return nil, err
	}
	return n.withZoneTypes(ctx, all)
}

func (n *networkFacts) readSubnets(ctx context.Context, name, value string) ([]observed.Subnet, error) {
	var out []observed.Subnet
	for page, err := range sdk.Pages(sdk.WithOptional(ctx), ec2.NewDescribeSubnetsPaginator(n.API.EC2, &ec2.DescribeSubnetsInput{Filters: sdk.Filters(name, value)})) {
		if err != nil {
			return nil, fmt.Errorf("read subnets: %w", err)
		}
		for _, s := range page.Subnets {
			out = append(out, convert.SubnetFromAWS(s))
		}
	}
	slices.SortFunc(out, func(a, b observed.Subnet) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// subnetOfOtherVPC returns a subnet that is not in the VPC of the cluster, by ID. It returns nil if the subnet does not
// exist.
func (n *networkFacts) subnetOfOtherVPC(ctx context.Context, id string) (*observed.Subnet, error) {
	isMissing := func(s *observed.Subnet) bool { return s == nil }
	s, err := n.otherVPCSubnets.GetWithAge(ctx, "subnet "+id, maxAge(n.otherVPCSubnets, isMissing, durations.NotFoundAge), func(ctx context.Context) (*observed.Subnet, error) {
		found, err := n.readSubnets(ctx, "subnet-id", id)
		if err != nil || len(found) != 1 || found[0].ID != id { // compare the ID, because * and ? in a filter are wildcards
			return nil, err
		}
		return &found[0], nil
	})
	if err != nil || s == nil {
		return nil, err
	}
	typed, err := n.withZoneTypes(ctx, []observed.Subnet{*s})
	if err != nil {
		return nil, err
	}
	return &typed[0], nil
}

// withZoneTypes returns a copy of subnets with the types of their Availability Zones. Types that are not cached are read
// from AWS.
func (n *networkFacts) withZoneTypes(ctx context.Context, subnets []observed.Subnet) ([]observed.Subnet, error) {
	unknown := func() (out []string, ok bool) {
		n.WithLock(func() {
			for _, s := range subnets {
				if _, ok := n.zoneTypes[s.ZoneID]; !ok && s.ZoneID != "" {
					out = append(out, s.ZoneID)
				}
			}
		})
		return sdk.SortedUnique(out), len(out) == 0
	}
	_, err := sdk.CachedOrRead(ctx, n.ReadOptional, "zones", unknown, func() error {
		unknown, _ := unknown()
		out, err := n.API.EC2.DescribeAvailabilityZones(sdk.WithOptional(ctx), &ec2.DescribeAvailabilityZonesInput{Filters: sdk.Filters("zone-id", unknown...)})
		if err != nil {
			return fmt.Errorf("read availability zones: %w", err)
		}
		n.WithLock(func() {
			for _, z := range out.AvailabilityZones {
				n.zoneTypes[aws.ToString(z.ZoneId)] = aws.ToString(z.ZoneType)
			}
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	typed := slices.Clone(subnets)
	n.WithLock(func() {
		for i := range typed {
			typed[i].ZoneType = n.zoneTypes[typed[i].ZoneID]
		}
	})
	return typed, nil
}

// publicSubnets returns, by subnet ID, whether a subnet has a route to an internet gateway. It looks for the route in the
// route table that is associated with the subnet, or, if no route table is associated, in the main route table of the VPC.
func (n *networkFacts) publicSubnets(ctx context.Context, all []observed.Subnet, maxAge time.Duration) (map[string]bool, error) {
	return n.publicByID.Get(ctx, "routes", maxAge, func(ctx context.Context) (map[string]bool, error) { return n.readRoutes(ctx, all) })
}

func (n *networkFacts) readRoutes(ctx context.Context, all []observed.Subnet) (map[string]bool, error) {
	explicit := map[string]bool{}
	main, hasMain := false, false
	for page, err := range sdk.Pages(sdk.WithOptional(ctx), ec2.NewDescribeRouteTablesPaginator(n.API.EC2, &ec2.DescribeRouteTablesInput{Filters: sdk.Filters("vpc-id", n.VPC)})) {
		if err != nil {
			return nil, fmt.Errorf("read route tables: %w", err)
		}
		for _, t := range page.RouteTables {
			public := false
			for _, r := range t.Routes {
				public = public || strings.HasPrefix(aws.ToString(r.GatewayId), "igw")
			}
			for _, a := range t.Associations {
				if aws.ToBool(a.Main) {
					main, hasMain = public, true
				} else if a.SubnetId != nil {
					explicit[*a.SubnetId] = public
				}
			}
		}
	}
	out := map[string]bool{}
	for _, s := range all {
		public, ok := explicit[s.ID]
		switch {
		case ok:
			out[s.ID] = public
		case hasMain:
			out[s.ID] = main
		default:
			return nil, fmt.Errorf("VPC %s has no main route table, and no route table is associated with subnet %s", n.VPC, s.ID)
		}
	}
	return out, nil
}
