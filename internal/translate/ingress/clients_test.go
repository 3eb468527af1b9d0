package ingress_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// TestClientsOfAPort checks which clients the managed security group admits to a port, by the settings of the two members
// that listen on it.
func TestClientsOfAPort(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want string }{
		"no settings":                             {"", "", "0.0.0.0/0"},
		"no settings, dualstack":                  {"ip-address-type: dualstack\n", "", "0.0.0.0/0 ::/0"},
		"ranges":                                  {"", "inbound-cidrs: 10.0.0.5/24,10.0.0.0/24\n", "10.0.0.0/24"},
		"the same ranges":                         {"inbound-cidrs: 10.0.0.0/8,11.0.0.0/8\n", "inbound-cidrs: 11.0.0.0/8 , 10.0.0.0/8\n", "10.0.0.0/8 11.0.0.0/8"},
		"an empty list of ranges":                 {"inbound-cidrs: ','\n", "inbound-cidrs: 10.0.0.0/8\n", "10.0.0.0/8"},
		"only empty lists":                        {"inbound-cidrs: ','\nsecurity-group-prefix-lists: ''\n", "", "0.0.0.0/0"},
		"prefix lists instead of the default":     {"security-group-prefix-lists: pl-2,pl-1\n", "", "pl-1 pl-2"},
		"ranges and prefix lists":                 {"security-group-prefix-lists: pl-1\ninbound-cidrs: 10.0.0.0/8\n", "", "10.0.0.0/8 pl-1"},
		"ranges of one, prefix lists of another":  {"security-group-prefix-lists: pl-1\n", "inbound-cidrs: 10.0.0.0/8\n", "10.0.0.0/8 pl-1"},
		"both address families":                   {"inbound-cidrs: '10.0.0.0/8,2001:DB8::1/32'\nip-address-type: dualstack-without-public-ipv4\n", "", "10.0.0.0/8 2001:db8::/32"},
		"both address families, only IPv4 served": {"inbound-cidrs: '10.0.0.0/8,2001:db8::/32'\n", "", "10.0.0.0/8"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "c"}, Class: "alb"})
			stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, twoMemberDocs(c.first, c.second)), model.StackID{Kind: model.Ingress, Name: "g"}, nil)
			var got []string
			for _, r := range stack.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged).Group.Ingress {
				if r.Protocol != "tcp" || r.From != 80 || r.To != 80 {
					t.Errorf("rule %+v", r)
				}
				got = append(got, cmp.Or(r.CIDR, r.PrefixList))
			}
			if got := strings.Join(got, " "); got != c.want || len(found) > 0 {
				t.Errorf("got %q, want %q; %v", got, c.want, found)
			}
		})
	}
}
