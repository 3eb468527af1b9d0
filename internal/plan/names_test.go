package plan

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestTextShowsNamesInsteadOfARNs checks that the text of a plan has names instead of the ARNs and ids of observed
// resources, and that other ARNs stay unchanged.
func TestTextShowsNamesInsteadOfARNs(t *testing.T) {
	have := observed.Stack{
		LoadBalancers: []observed.LoadBalancer{{ARN: "arn:lb/1", Name: "k8s-web", Listeners: []observed.Listener{{
			ARN: "arn:listener/1", Protocol: "HTTP", Port: 80, Rules: []observed.Rule{
				{ARN: "arn:rule/1", Priority: 3, Conditions: []model.Condition{model.HostHeader{Values: []string{"a.example.com"}}}},
				{ARN: "arn:rule/11", Priority: 4, Conditions: []model.Condition{model.PathPattern{Values: []string{"/" + strings.Repeat("x", 100)}}}},
			},
		}}}},
		TargetGroups:   []observed.TargetGroup{{ARN: "arn:group/1", ResourceID: "shop/web:80", Name: "k8s-shop"}},
		SecurityGroups: []observed.SecurityGroup{{ID: "sg-1", Name: "k8s-web-sg"}},
		Facts:          observed.Facts{BackendSecurityGroup: &observed.SecurityGroup{ID: "sg-2", Name: "shared"}},
	}
	p := Plan{Steps: []Step{{
		ID: "tag rule/arn:rule/1", Verb: Update, Why: "arn:lb/1 differs",
		Changes: []Change{{Path: "priority of arn:rule/11", To: "2"}, {Path: "groups", From: "arn:group/1, arn:group/other", To: "sg-1, sg-2"}},
	}}}
	want := `~ tag rule/HTTP:80/3 (host a.example.com)   # k8s-web differs
    priority of HTTP:80/4 (path /` + strings.Repeat("x", 74) + `… (106 characters)): 2
    groups: shop/web:80 (k8s-shop), arn:group/other -> k8s-web-sg (sg-1), shared (sg-2)
`
	if got := p.TextWith(ResourceNamesOf(have)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := p.Text(); !strings.Contains(got, "arn:rule/11") {
		t.Error(got)
	}
	accelerator := observed.Stack{Accelerators: []observed.Accelerator{{ARN: "arn:a", Name: "a name longer than what follows", Listeners: []observed.AcceleratorListener{{
		ARN: "arn:a/l", Protocol: model.TCP, Ports: []model.PortRange{{From: 80, To: 80}}, Groups: []observed.EndpointGroup{{ARN: "arn:a/l/g", Region: "eu-west-1"}},
	}}}}}
	if got := ResourceNamesOf(accelerator).Replace("arn:a, arn:a/l, arn:a/l/g"); got != "a name longer than what follows, TCP:80, TCP:80/eu-west-1" {
		t.Error(got)
	}
	have.LoadBalancers = append(have.LoadBalancers, observed.LoadBalancer{ARN: "arn:lb/2", Name: "before"})
	if got := ResourceNamesOf(have).Replace("listener/arn:listener/1"); got != "listener/k8s-web/HTTP:80" {
		t.Error(got)
	}
}

// TestChangeOfRuleOrderIsCounted checks that a step that only reorders rules counts as a change in the summary.
func TestChangeOfRuleOrderIsCounted(t *testing.T) {
	p := Plan{Steps: []Step{{ID: "order listener/80", Address: Address{Listener, "80"}, Verb: Update, Do: SetPriorities{}}}}
	if got := p.Summary(observed.Stack{}); got != (Summary{Change: 1}) {
		t.Errorf("%+v", got)
	}
}
