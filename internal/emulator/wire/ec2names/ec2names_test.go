package ec2names_test

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire/ec2names"
)

func TestNamesOnTheWire(t *testing.T) {
	for _, c := range []struct{ request, response, typ, member string }{
		{"Filter", "filters", "DescribeSubnetsInput", "Filters"},
		{"Subnets", "subnetSet", "DescribeSubnetsOutput", "Subnets"},
		{"Groups", "groups", "IpPermission", "UserIdGroupPairs"},
		{"Value", "values", "Filter", "Values"},
		{"GroupDescription", "description", "CreateSecurityGroupInput", "Description"},
		{"VpcId", "vpcId", "Subnet", "VpcId"},
	} {
		if got := ec2names.RequestName(c.typ, c.member); got != c.request {
			t.Errorf("request %s.%s: want %s, got %s", c.typ, c.member, c.request, got)
		}
		if got := ec2names.ResponseName(c.typ, c.member); got != c.response {
			t.Errorf("response %s.%s: want %s, got %s", c.typ, c.member, c.response, got)
		}
	}
}
