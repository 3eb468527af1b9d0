package assemble

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// HostClaims has the hosts that objects of several namespaces use on one load balancer. If several certificates cover a
// host, the load balancer chooses one by its key algorithm. So it could present the certificate of another tenant.
// Therefore, the certificate of a tenant must not cover a host that another tenant claimed earlier.
type HostClaims struct {
	namespaces map[string]bool
	exact      map[string][]hostClaim // by host
	byParent   map[string][]hostClaim // by parent domain of the host: example.com for a.example.com
}

// hostClaim is the earliest claim of a namespace to a host. A claim with a lower rank is earlier.
type hostClaim struct {
	host     string
	claimant finding.Ref
	rank     int
}

// Add adds the claim of an object to a host. A claim with a lower rank is earlier.
func (c *HostClaims) Add(host string, by finding.Ref, rank int) {
	if c.exact == nil {
		c.namespaces, c.exact, c.byParent = map[string]bool{}, map[string][]hostClaim{}, map[string][]hostClaim{}
	}
	claim := hostClaim{strings.ToLower(host), by, rank}
	c.namespaces[by.Namespace] = true
	addClaim(c.exact, claim.host, claim)
	if _, parent, ok := strings.Cut(claim.host, "."); ok {
		addClaim(c.byParent, parent, claim)
	}
}

func addClaim(all map[string][]hostClaim, key string, claim hostClaim) {
	for i, known := range all[key] {
		if known.claimant.Namespace == claim.claimant.Namespace {
			if claim.rank < known.rank {
				all[key][i] = claim
			}
			return
		}
	}
	all[key] = append(all[key], claim)
}

// earlierClaim returns a host that a DNS name of a certificate covers, if an object of another namespace claims this
// host with a lower rank. It also returns this object. host is "" if there is no such claim.
func (c *HostClaims) earlierClaim(name, namespace string, rank int) (host string, by finding.Ref) {
	if c == nil || len(c.namespaces) == 0 || len(c.namespaces) == 1 && c.namespaces[namespace] {
		return "", by
	}
	lists := [][]hostClaim{c.exact[name]}
	if _, parent, ok := strings.Cut(name, "."); ok {
		if lists = append(lists, c.exact["*."+parent]); strings.HasPrefix(name, "*.") {
			lists = append(lists, c.byParent[parent])
		}
	}
	for _, list := range lists {
		for _, x := range list {
			if x.claimant.Namespace != namespace && x.rank < rank {
				return x.host, x.claimant
			}
		}
	}
	return "", by
}
