package bindingplan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// ENIQuery selects ENIs by instance id, by ENI id and by address.
type ENIQuery struct {
	Instances []string // by instance id
	// ExpectedAddresses has, by instance id, the addresses that the ENIs of the instance should have. Addresses change with
	// pods. If a cached answer lacks one of the addresses, the ENIs are read again.
	ExpectedAddresses map[string][]string
	IDs               []string // by id of the ENI
	Addresses         []string // by a private IPv4 or IPv6 address of the ENI
	// MaxAge is the maximum age of a cached answer; zero means no maximum.
	MaxAge time.Duration
}

// ENIs is the answer to an ENIQuery.
type ENIs struct {
	ByInstance map[string][]network.ENI
	ByID       map[string]network.ENI
	ByAddress  map[string]network.ENI
}

// RuleOptions has the settings from which security group rules are computed.
type RuleOptions struct {
	ClusterName       string
	SecurityGroupTags map[string]string
	// KeepPortsSeparate is set if the ports that are open for one source must not be merged into one port range.
	KeepPortsSeparate bool
	// Now is the current time.
	Now time.Time
}

// unknownSecurityGroupFinding returns the finding about an endpoint whose security group is unknown.
func unknownSecurityGroupFinding(b finding.Ref, err error) finding.Finding {
	fix := "tag exactly one of the security groups for the cluster"
	if errors.Is(err, errNoENI) {
		fix = "the lookup is retried; if it keeps failing, check that the address belongs to the VPC"
	}
	return finding.Finding{
		Object: b, Field: "spec.networking", Reason: finding.EndpointGroupUnclear, Severity: finding.Error,
		Message: err.Error(), Fix: fix,
	}
}

// errNoENI is the error for an endpoint whose address no ENI has. AWS returns new addresses after a delay.
var errNoENI = errors.New("AWS has no network interface with the address")

// ENIQueryFor returns one query for the ENIs of all pods of the given bindings. NewNodeSecurityGroups does this for nodes.
func ENIQueryFor(demands ...targets.RuleDemand) ENIQuery {
	q := ENIQuery{ExpectedAddresses: map[string][]string{}}
	for _, d := range demands {
		for _, n := range d.PodDemands {
			for i, p := range n.Lookups {
				switch {
				case p.Instance != "":
					q.Instances = append(q.Instances, p.Instance)
					// The instance is expected to have the address only if the first lookup is by instance. A later lookup
					// is a fallback.
					if p.EndpointIP != "" && i == 0 {
						q.ExpectedAddresses[p.Instance] = append(q.ExpectedAddresses[p.Instance], p.EndpointIP)
					}
				case p.ENI != "":
					q.IDs = append(q.IDs, p.ENI)
				case p.Address != "":
					q.Addresses = append(q.Addresses, p.Address)
				}
			}
		}
	}
	for i := range q.ExpectedAddresses {
		q.ExpectedAddresses[i] = sortAndDeduplicate(q.ExpectedAddresses[i])
	}
	q.Instances, q.IDs, q.Addresses = sortAndDeduplicate(q.Instances), sortAndDeduplicate(q.IDs), sortAndDeduplicate(q.Addresses)
	return q
}

// Empty reports whether the query selects nothing.
func (q ENIQuery) Empty() bool { return len(q.Instances)+len(q.IDs)+len(q.Addresses) == 0 }

// sortAndDeduplicate sorts a list and removes duplicates.
func sortAndDeduplicate(list []string) []string {
	if !slices.IsSorted(list) {
		slices.Sort(list)
	}
	return slices.Compact(list)
}

// securityGroupOf returns the id of the security group for the rules of an endpoint, and all security groups of its ENI. It
// returns an error if no ENI is found, or if the choice of the security group is not clear.
func (o RuleOptions) securityGroupOf(n targets.EndpointDemand, found ENIs) (string, []network.ENISecurityGroup, error) {
	for _, p := range n.Lookups {
		if eni, ok := eniAt(p, found); ok {
			group, err := network.ChooseSecurityGroup(o.ClusterName, eni.ID, eni.SecurityGroups, o.SecurityGroupTags)
			return group, eni.SecurityGroups, err
		}
	}
	return "", nil, fmt.Errorf("%w of %s, so no security group is opened for it", errNoENI, n.Endpoint)
}

// eniAt returns the ENI that a lookup finds; false if it finds none.
func eniAt(p targets.ENILookup, found ENIs) (network.ENI, bool) {
	switch {
	case p.ENI != "":
		eni, ok := found.ByID[p.ENI]
		return eni, ok && eni.HasAddress(p.EndpointIP)
	case p.Address != "":
		eni, ok := found.ByAddress[p.Address]
		return eni, ok && (p.EndpointIP == "" || eni.HasAddress(p.EndpointIP))
	case p.EndpointIP != "":
		return network.ENIWithAddress(p.EndpointIP, found.ByInstance[p.Instance])
	}
	return network.PrimaryENI(found.ByInstance[p.Instance])
}
