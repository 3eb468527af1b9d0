package harness

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The certificates of a load balancer are used up, and a neighbour in front has more that AWS refuses. A member that
// names another certificate for its host gets the place of the former one: without that it has none once that ends.
func TestACertificateIsReplacedWhereANeighbourWaitsForOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		quota(r, "certificates-per-application-load-balancer", 4)
		first, old, successor := imported(r, "first.example.org"), imported(r, "victim.example.org"), imported(r, "victim.example.org")
		var theirs []string
		for i := range 6 {
			theirs = append(theirs, imported(r, fmt.Sprintf("t%d.example.org", i)))
		}
		r.Apply(shop, pods("web", podAddresses[:3]...), neighbourNamespace, secureMember("shop", "other", "1", "first.example.org", first))
		settled(t, r)
		r.Apply(secureMember("shop", "victim", "10", "victim.example.org", old))
		settled(t, r)
		r.Apply(secureMember("team", "front", "-1000", "team.example.org", theirs...))
		r.Settle(time.Hour)
		r.Apply(secureMember("shop", "victim", "10", "victim.example.org", successor))
		r.Settle(time.Hour)
		if got := attachedCertificates(r); !slices.Contains(got, successor) {
			t.Errorf("the successor %s is not attached: %s", successor, got)
		}
	})
}
