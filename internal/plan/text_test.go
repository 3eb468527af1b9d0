package plan

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestTextIsBoundedAndShowsNoSecret checks that the text of a plan stays short for very long user input: it has few lines,
// and each line is short and printable. It also checks that the text contains no secret.
func TestTextIsBoundedAndShowsNoSecret(t *testing.T) {
	const secret = "hunter2"
	long := strings.Repeat("é", 5000)
	var rewrites []model.Rewrite
	for i := range 1000 {
		rewrites = append(rewrites, model.Rewrite{Regex: fmt.Sprint(i), Replace: long})
	}
	hosts := make([]string, 10000)
	for i := range hosts {
		hosts[i] = "\x1b[31m" + long
	}
	p := Plan{Steps: []Step{
		{ID: "create rule/1", Address: RuleAddress("1"), Verb: Create, Do: CreateRule{Rule: model.Rule{
			Conditions: []model.Condition{model.HostHeader{Values: hosts}, model.QueryString{Pairs: []model.QueryPair{{Key: long, Value: "\n- delete everything"}}}},
			Transforms: []model.Transform{{Kind: model.HostRewrite, Rewrites: rewrites}},
			Actions:    []model.Action{model.AuthOIDC{Issuer: "https://id.example.com", ClientID: secret, ClientSecret: secret}, model.FixedResponse{Status: "404", Body: long}},
		}}},
		{ID: "update listener/1", Address: Address{Listener, "1"}, Verb: Update, Changes: []Change{{Path: "x", From: long, To: "\r" + long}}},
	}}
	text := p.Text()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > maxFields+4 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > 3*maxValueLength || strings.ContainsAny(l, "\x1b\r") {
			t.Errorf("%.400q", l)
		}
	}
	if strings.Contains(text, secret) || strings.Contains(fmt.Sprint(p.Steps[0].Fields()), secret) {
		t.Error("the text has a secret")
	}
	if !strings.Contains(text, "https://id.example.com") || !strings.Contains(text, "(5000 characters)") || !strings.Contains(text, "… and ") {
		t.Error(text)
	}
}

func TestSummaryCountsResources(t *testing.T) {
	step := func(verb Verb, kind ResourceKind, id string, wait ...string) Step {
		return Step{Verb: verb, Address: Address{kind, id}, Wait: Wait{For: strings.Join(wait, "")}}
	}
	have := observed.Stack{
		LoadBalancers: []observed.LoadBalancer{{ARN: "lb-old", ResourceID: "LoadBalancer"}},
		TargetGroups:  []observed.TargetGroup{{ARN: "tg-old", ResourceID: "g1"}, {ARN: "tg-gone", ResourceID: "g9"}},
	}
	p := Plan{Steps: []Step{
		// The load balancer is created, then its attributes are changed.
		step(Create, LoadBalancer, "LoadBalancer"), step(Update, LoadBalancer, "LoadBalancer"),
		step(Update, SecurityGroup, "g"), step(Update, SecurityGroup, "g"),
		step(Create, TargetGroup, "g1"), step(Create, TargetGroup, "g2"),
		step(Delete, TargetGroup, "tg-old", "its targets to drain"), step(Delete, TargetGroup, "tg-gone"),
		step(Update, Listener, "l"), step(Delete, Listener, "l"), // changed, then deleted
		step(Delete, LoadBalancer, "lb-old"),
	}}
	got := p.Summary(have)
	if want := (Summary{Create: 1, Change: 1, Replace: 2, Delete: 2, Waiting: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if text := got.Add(got).String(); text != "2 to create, 2 to change, 4 to replace, 4 to delete; 2 steps wait" {
		t.Error(text)
	}
	if p := (Plan{}); p.Summary(have) != (Summary{}) {
		t.Error("an empty plan has something to do")
	}
}
