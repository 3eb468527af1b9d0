package model

import "testing"

// TestSecurityGroupKeysDiffer checks that questions for different security groups have different keys, even if a reference
// has a comma. The answers are cached by key for all stacks.
func TestSecurityGroupKeysDiffer(t *testing.T) {
	two, one := SecurityGroupQuestion(GroupsGiven{Refs: []string{"sg-1", "sg-2"}}), SecurityGroupQuestion(GroupsGiven{Refs: []string{"sg-1,sg-2"}})
	if two.Key() == one.Key() {
		t.Errorf("both keys are %q", two.Key())
	}
}
