package assemble

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// HostClaims are the hosts that objects of several namespaces serve on one load balancer. A load balancer chooses
// between the certificates for a host by their keys, whoever they are from, so a certificate that a tenant brings
// must not be for the hosts of those who came first.
type HostClaims struct {
	namespaces map[string]bool
	exact      map[string][]hostClaim // by host
	below      map[string][]hostClaim // by the parent of hosts
}

// hostClaim is the first one of a namespace.
type hostClaim struct {
	host string
	by   finding.Ref
	rank int
}

// Add notes that an object serves a host. Those with a lower rank came first.
func (c *HostClaims) Add(host string, by finding.Ref, rank int) {
	if c.exact == nil {
		c.namespaces, c.exact, c.below = map[string]bool{}, map[string][]hostClaim{}, map[string][]hostClaim{}
	}
	claim := hostClaim{strings.ToLower(host), by, rank}
	c.namespaces[by.Namespace] = true
	addClaim(c.exact, claim.host, claim)
	if _, parent, ok := strings.Cut(claim.host, "."); ok {
		addClaim(c.below, parent, claim)
	}
}

func addClaim(all map[string][]hostClaim, key string, claim hostClaim) {
	for i, known := range all[key] {
		if known.by.Namespace == claim.by.Namespace {
			if claim.rank < known.rank {
				all[key][i] = claim
			}
			return
		}
	}
	all[key] = append(all[key], claim)
}

// firstClaim returns a host that a name of a certificate is for, and whose object is of another namespace and came
// before the rank; "" if there is none.
func (c *HostClaims) firstClaim(name, namespace string, rank int) (host string, by finding.Ref) {
	if c == nil || len(c.namespaces) == 0 || len(c.namespaces) == 1 && c.namespaces[namespace] {
		return "", by
	}
	lists := [][]hostClaim{c.exact[name]}
	if _, parent, ok := strings.Cut(name, "."); ok {
		if lists = append(lists, c.exact["*."+parent]); strings.HasPrefix(name, "*.") {
			lists = append(lists, c.below[parent])
		}
	}
	for _, list := range lists {
		for _, x := range list {
			if x.by.Namespace != namespace && x.rank < rank {
				return x.host, x.by
			}
		}
	}
	return "", by
}
