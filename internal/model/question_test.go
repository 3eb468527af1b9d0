package model

import "testing"

// TestSecurityGroupKeysDiffer checks that questions for different security groups have different keys, even if a reference
// has a comma. The answers are cached by key for all stacks.
func TestSecurityGroupKeysDiffer(t *testing.T) {
	two, one := SecurityGroupQuestion(SecurityGroupsGiven{Refs: []string{"sg-1", "sg-2"}}), SecurityGroupQuestion(SecurityGroupsGiven{Refs: []string{"sg-1,sg-2"}})
	if two.Key() == one.Key() {
		t.Errorf("both keys are %q", two.Key())
	}
}

// TestSubnetKeysDiffer checks that questions for different subnets have different keys, whatever names and tags the members of
// a stack choose. Otherwise the question of one member would get the answer to that of another one.
func TestSubnetKeysDiffer(t *testing.T) {
	tags := func(values ...string) SubnetsTagged { return SubnetsTagged{Tags: map[string][]string{"k": values}} }
	keys := map[string]SubnetChoice{}
	for _, c := range []SubnetChoice{
		SubnetsDiscovered{}, SubnetsNamed{Refs: []string{"internal"}}, SubnetsNamed{Refs: []string{"a", "b"}}, SubnetsNamed{Refs: []string{"a,b"}},
		SubnetsNamed{Refs: []string{"k=v|w"}}, tags("v", "w"), tags("v|w"), SubnetsTagged{Tags: map[string][]string{"k": {"v"}, "l": {"w"}}}, tags("v,l=w"),
	} {
		key := SubnetQuestion(c, Internal, false).Key()
		if other, taken := keys[key]; taken {
			t.Errorf("%v and %v have the key %q", c, other, key)
		}
		keys[key] = c
	}
}
