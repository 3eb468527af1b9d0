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

// ENIQuery asks for network interfaces.
type ENIQuery struct {
	Instances []string // by instance id
	// Carried are addresses that the interfaces of an instance are expected to carry. Addresses
	// come and go with pods, so an answer from memory that lacks one has to be read again.
	Carried   map[string][]string
	IDs       []string // by id of the interface
	Addresses []string // by a private IPv4 or IPv6 address of the interface itself
	// MaxAge of the answer, if above zero.
	MaxAge time.Duration
}

// ENIs is the answer. An instance's interfaces include their addresses and prefixes.
type ENIs struct {
	OfInstance map[string][]network.ENI
	ByID       map[string]network.ENI
	ByAddress  map[string]network.ENI
}

// RuleOptions are settings that the rules depend on.
type RuleOptions struct {
	ClusterName string
	GroupTags   map[string]string
	// Unmerged keeps every rule apart instead of joining the ports of one source to a range.
	Unmerged bool
	// Now is the time, by which endpoints are new.
	Now time.Time
}

func unknownGroupFinding(b finding.Ref, err error) finding.Finding {
	fix := "tag exactly one of the security groups for the cluster"
	if errors.Is(err, errNoENI) {
		fix = "this is tried again; if it lasts, check that the address belongs to the VPC"
	}
	return finding.Finding{
		Object: b, Field: "spec.networking", Reason: finding.EndpointGroupUnclear, Severity: finding.Error,
		Message: err.Error(), Fix: fix,
	}
}

// errNoENI reports that AWS does not know the address of an endpoint, which may be a moment old.
var errNoENI = errors.New("AWS has no network interface with the address")

// QueryFor gathers the places of all endpoints that are pods into one question; see NewNodeGroups for nodes.
func QueryFor(asks ...Demand) ENIQuery {
	q := ENIQuery{Carried: map[string][]string{}}
	for _, a := range asks {
		for _, n := range a.Needs {
			for i, p := range n.Places {
				switch {
				case p.Instance != "":
					q.Instances = append(q.Instances, p.Instance)
					// Behind another place it is expected to carry nothing.
					if p.On != "" && i == 0 {
						q.Carried[p.Instance] = append(q.Carried[p.Instance], p.On)
					}
				case p.ENI != "":
					q.IDs = append(q.IDs, p.ENI)
				case p.Address != "":
					q.Addresses = append(q.Addresses, p.Address)
				}
			}
		}
	}
	for i := range q.Carried {
		q.Carried[i] = unique(q.Carried[i])
	}
	q.Instances, q.IDs, q.Addresses = unique(q.Instances), unique(q.IDs), unique(q.Addresses)
	return q
}

// Empty reports whether nothing is asked.
func (q ENIQuery) Empty() bool { return len(q.Instances)+len(q.IDs)+len(q.Addresses) == 0 }

// unique sorts a list and drops repeats.
func unique(list []string) []string {
	if !slices.IsSorted(list) {
		slices.Sort(list)
	}
	return slices.Compact(list)
}

// securityGroupOf finds the security group that carries the rules of an endpoint, and the groups among
// which it is.
func (o RuleOptions) securityGroupOf(n targets.Need, found ENIs) (string, []network.ENIGroup, error) {
	for _, p := range n.Places {
		if eni, ok := eniAt(p, found); ok {
			group, err := network.ChooseSecurityGroup(o.ClusterName, eni.ID, eni.Groups, o.GroupTags)
			return group, eni.Groups, err
		}
	}
	return "", nil, fmt.Errorf("%w of %s, so no security group is opened for it", errNoENI, n.Endpoint)
}

func eniAt(p targets.Place, found ENIs) (network.ENI, bool) {
	switch {
	case p.ENI != "":
		eni, ok := found.ByID[p.ENI]
		return eni, ok && eni.Carries(p.On)
	case p.Address != "":
		eni, ok := found.ByAddress[p.Address]
		return eni, ok && (p.On == "" || eni.Carries(p.On))
	case p.On != "":
		return network.ENIOf(p.On, found.OfInstance[p.Instance])
	}
	return network.Primary(found.OfInstance[p.Instance])
}
