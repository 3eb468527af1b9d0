package refused

import (
	"testing"

	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TestQuotedValuesNameNoSetting checks that the setting of a refused value is found by the words of the AWS message, and not
// by a value in it: "staging" contains "tag".
func TestQuotedValuesNameNoSetting(t *testing.T) {
	loadBalancer := plan.CreateLoadBalancer{Name: "staging-name", Tags: plan.Tags{"team": "a;b", "name": "x"}}
	for _, c := range []struct {
		do      plan.Action
		message string
		setting string
	}{
		{loadBalancer, "A load balancer with the same name 'staging-name' exists, but with different settings", "load-balancer-name"},
		{loadBalancer, "Not enough IP space available in subnet 'staging'.", "subnets"},
		{loadBalancer, "1 validation error detected: Value 'a;b' at 'tags.1.member.value' failed to satisfy constraint: Member must satisfy regular expression pattern: x", "tags"},
		{plan.CreateTargetGroup{Tags: plan.Tags{"a": "b"}}, "A target group with the same name 'k8s-staging-web' exists, but with different settings", ""},
		{plan.CreateTargetGroup{Tags: plan.Tags{"a": "b"}}, "Tag keys beginning with 'aws:' are reserved: 'aws:x'", "tags"},
	} {
		v, ok := ValueOf(model.Ingress, plan.Step{Do: c.do}, &smithy.GenericAPIError{Code: "ValidationError", Message: c.message})
		if !ok || v.Setting != c.setting {
			t.Errorf("%s: setting %q, want %q", c.message, v.Setting, c.setting)
		}
	}
	if got := AcceleratorSetting("the name 'staging' must have 1 to 64 letters"); got != "name" {
		t.Errorf("setting %q of an accelerator, want name", got)
	}
}
