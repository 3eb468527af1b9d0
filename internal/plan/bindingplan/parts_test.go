package bindingplan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// setInstanceType sets the target type of the binding and of its target group to instance.
func setInstanceType(f *Facts) {
	kind := elbv2.TargetTypeInstance
	f.StoredBinding.Spec.TargetType, f.LiveTargetGroup.TargetGroup.Type = &kind, model.InstanceTargets
}

// TestRemovalDeregistersTargetsWithoutBackend checks which targets MakeRemoval deregisters, and that
// MakeForPreviousTargetGroup does not deregister targets that are already draining.
func TestRemovalDeregistersTargetsWithoutBackend(t *testing.T) {
	for name, x := range map[string]struct {
		edit func(*Facts)
		want string
	}{
		"targets without a pod":          {func(f *Facts) { f.TargetsWithoutBackend = &TargetsWithoutBackend{f.Health.Targets[1:]} }, "deregister 10.0.0.2 if there"},
		"all have one":                   {func(f *Facts) { f.TargetsWithoutBackend = &TargetsWithoutBackend{} }, ""},
		"which have none is asked":       {func(*Facts) {}, "ask TargetsWithoutBackend"},
		"and who fills the target group": {func(f *Facts) { f.Conflict = nil }, "ask Conflict"},
		"in the group of another":        {func(f *Facts) { f.Conflict.OwnedByOtherNamespace = true }, ""},
		"what it has registered there goes": {func(f *Facts) {
			f.Conflict.OwnedByOtherNamespace, f.Memory.RegisteredTargets = true, f.Memory.RegisteredTargets.WithTargets(f.Health.Targets)
			f.TargetsWithoutBackend = &TargetsWithoutBackend{f.Health.Targets[:1]}
		}, "deregister 10.0.0.1 if there"},
		"targets that cannot be listed": {func(f *Facts) { f.Health.Failure = &deniedFailure }, ""},
		"a record that cannot be read":  {func(f *Facts) { f.Record.Failure = &deniedFailure }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := completeFacts(t)
			x.edit(f)
			p := MakeRemoval(f)
			if got := withoutEmptyParts(planText(p)); got != x.want {
				t.Errorf("got %s, want %s", got, x.want)
			}
			if failed := p.Failure(StepResults{}); (failed != nil) != (f.Health.Failure != nil || f.Record.Failure != nil) {
				t.Errorf("failure %v", failed)
			}
		})
	}
	f := completeFacts(t)
	f.Health = healthOf("1 healthy", "2 draining")
	if got := withoutEmptyParts(planText(MakeForPreviousTargetGroup(f))); got != "no removal; deregister 10.0.0.1 if there" {
		t.Errorf("a target group that the binding has left: %s", got)
	}
}

// TestReplacedTargetIsDeregisteredFirst checks that an old target with the address and port of a new target is deregistered
// first, because AWS identifies targets by address and port.
func TestReplacedTargetIsDeregisteredFirst(t *testing.T) {
	d := targets.Diff{ToRegister: []targets.Endpoint{{ID: "10.0.0.1", Port: 80, ServerID: "0x2"}},
		ToDeregister: []*observed.Target{{ID: "10.0.0.1", Port: 80, ServerID: "0x1"}, {ID: "10.0.0.1", Port: 81}, {ID: "10.0.0.2", Port: 80}}}
	first, rest := splitReplacedTargets(d)
	if len(first) != 1 || first[0].ServerID != "0x1" || len(rest) != 2 {
		t.Errorf("first %v, then %v", first, rest)
	}
}

// TestAddressesAreRegisteredWithTheirZone checks the Availability Zones that are set when addresses are registered as
// targets.
func TestAddressesAreRegisteredWithTheirZone(t *testing.T) {
	for name, x := range map[string]struct {
		edit func(*Facts)
		want string
	}{
		"of the VPC":                   {func(*Facts) {}, ""},
		"outside of it":                {func(f *Facts) { f.Network.Ranges = []string{"10.1.0.0/16"} }, "all"},
		"where AWS wants the zone":     {func(f *Facts) { f.Network = &Network{ZonesRequired: true, Zones: map[string]string{"n1": "a"}} }, "a"},
		"of a node without one":        {func(f *Facts) { f.Network = &Network{ZonesRequired: true, Zones: map[string]string{"n1": ""}} }, "all"},
		"of a node that is not known":  {func(f *Facts) { f.Network = &Network{ZonesRequired: true} }, "error"},
		"where the VPC cannot be read": {func(f *Facts) { f.Network = &Network{Failure: &deniedFailure} }, "error"},
		"of another account, where none is known": {func(f *Facts) {
			f.Network = &Network{ZonesRequired: true}
			f.StoredBinding.Spec.IamRoleArnToAssume = "role"
		}, "all"},
	} {
		t.Run(name, func(t *testing.T) {
			f := completeFacts(t, "1")
			x.edit(f)
			list, err := f.TargetsFor(f.Resolution.Endpoints())
			got := "error"
			if err == nil {
				got = list[0].Zone
			}
			if got != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}

// TestConflictOf checks which of two bindings of a target group has precedence, and that the finding does not show names in
// a namespace of other owners.
func TestConflictOf(t *testing.T) {
	other := func(edit func(*elbv2.TargetGroupBinding)) *elbv2.TargetGroupBinding {
		b := testBinding()
		b.Name = "c"
		edit(b)
		return b
	}
	older := func(b *elbv2.TargetGroupBinding) { b.CreationTimestamp = metav1.NewTime(now.Add(-48 * time.Hour)) }
	for name, x := range map[string]struct {
		mine   func(*elbv2.TargetGroupBinding)
		other  func(*elbv2.TargetGroupBinding)
		owners []string
		want   bool // whether the other binding has precedence
	}{
		"to an older one":                      {other: older, want: true},
		"not to a younger one":                 {other: func(b *elbv2.TargetGroupBinding) { b.CreationTimestamp = metav1.NewTime(now) }},
		"to a name that comes first":           {other: func(b *elbv2.TargetGroupBinding) { b.Name = "a" }, want: true},
		"to that of the owner":                 {other: func(b *elbv2.TargetGroupBinding) { b.Namespace = "owner" }, owners: []string{"owner"}, want: true},
		"not as the owner":                     {other: func(b *elbv2.TargetGroupBinding) { older(b); b.Namespace = "x" }, owners: []string{"ns"}},
		"not as the owner that has found none": {mine: setTargetGroupName, other: func(b *elbv2.TargetGroupBinding) { older(b); b.Namespace = "x" }, owners: []string{"ns"}},
		"not where both share":                 {mine: setSharedTargetGroup, other: func(b *elbv2.TargetGroupBinding) { older(b); setSharedTargetGroup(b) }},
		"where only one shares":                {other: func(b *elbv2.TargetGroupBinding) { older(b); setSharedTargetGroup(b) }, want: true},
		"where the owner shares":               {mine: setSharedTargetGroup, other: func(b *elbv2.TargetGroupBinding) { setSharedTargetGroup(b); b.Namespace = "owner" }, owners: []string{"owner"}, want: true},
		"not as one of the owner that shares":  {mine: setSharedTargetGroup, other: func(b *elbv2.TargetGroupBinding) { setSharedTargetGroup(b); older(b) }, owners: []string{"ns"}},
		"where the owner has none":             {mine: setSharedTargetGroup, other: func(b *elbv2.TargetGroupBinding) { setSharedTargetGroup(b) }, owners: []string{"owner"}, want: true},
		"not to one that has found nothing":    {other: func(b *elbv2.TargetGroupBinding) { older(b); setTargetGroupName(b) }},
	} {
		t.Run(name, func(t *testing.T) {
			b := testBinding()
			if x.mine != nil {
				x.mine(b)
			}
			c := ConflictOf(b, []*elbv2.TargetGroupBinding{other(x.other)}, x.owners)
			if c.exists() != x.want {
				t.Fatalf("conflict %+v", c)
			}
			if x.want && !c.OwnedByOtherNamespace && !strings.Contains(c.finding(b).Message, c.PrecedingBinding.Namespace+"/"+c.PrecedingBinding.Name) {
				t.Errorf("finding %v", c.finding(b))
			}
			if c.OwnedByOtherNamespace && strings.Contains(c.finding(b).Text(), "owner") {
				t.Errorf("the finding names a namespace that the reader need not see: %v", c.finding(b))
			}
		})
	}
}

func setSharedTargetGroup(b *elbv2.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }

// setTargetGroupName sets the name of the target group instead of its ARN.
func setTargetGroupName(b *elbv2.TargetGroupBinding) {
	b.Spec.TargetGroupARN, b.Spec.TargetGroupName = "", "a"
}

// TestBindingIsCompletedFromItsTargetGroup checks which unset fields of a binding get values from its target group, which
// fields contradict the target group, and which are ignored with a warning.
func TestBindingIsCompletedFromItsTargetGroup(t *testing.T) {
	g := TargetGroup{ARN: "arn/a", Type: model.InstanceTargets, Protocol: "TCP", VPC: "vpc-2"}
	b := &elbv2.TargetGroupBinding{Spec: elbv2.TargetGroupBindingSpec{TargetGroupName: "a"}}
	if got := specText(g.CompleteBinding(b).Spec); got != "arn/a instance TCP ipv4 vpc-2" {
		t.Errorf("completed: %s", got)
	}
	if got := specText(g.CompleteBinding(testBinding()).Spec); got != "arn/a ip HTTP ipv4 vpc-1" {
		t.Errorf("what is said stays: %s", got)
	}
	for name, x := range map[string]struct {
		edit func(*elbv2.TargetGroupBinding)
		want string
	}{
		"the same":                       {func(*elbv2.TargetGroupBinding) {}, ""},
		"a binding that says nothing":    {func(b *elbv2.TargetGroupBinding) { b.Spec = elbv2.TargetGroupBindingSpec{} }, ""},
		"another type":                   {func(b *elbv2.TargetGroupBinding) { x := elbv2.TargetTypeInstance; b.Spec.TargetType = &x }, "spec.targetType"},
		"another family":                 {func(b *elbv2.TargetGroupBinding) { x := elbv2.TargetGroupIPAddressTypeIPv6; b.Spec.IPAddressType = &x }, "spec.ipAddressType"},
		"another VPC":                    {func(b *elbv2.TargetGroupBinding) { b.Spec.VpcID = "vpc-9" }, "spec.vpcID"},
		"another protocol counts little": {func(b *elbv2.TargetGroupBinding) { x := elbv2.Protocol("TCP"); b.Spec.TargetGroupProtocol = &x }, "warning spec.targetGroupProtocol"},
		"a selector of nodes for pods":   {func(b *elbv2.TargetGroupBinding) { b.Spec.NodeSelector = &metav1.LabelSelector{} }, "warning spec.nodeSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			g, b := TargetGroup{ARN: "arn/a", Type: model.IPTargets, Protocol: "HTTP", AddressType: model.IPv4, VPC: "vpc-1"}, testBinding()
			x.edit(b)
			got := ""
			if f := g.contradictionFinding(b); f != nil {
				got = f.Field
			}
			b.Spec.TargetType = nil
			for _, f := range g.ignoredSettings(b) {
				if got == "" {
					got = "warning " + f.Field
				}
			}
			if got != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}

// TestUnsupportedFinding checks which settings of a binding are reported as unsupported.
func TestUnsupportedFinding(t *testing.T) {
	for name, x := range map[string]struct {
		edit func(*Facts)
		want string
	}{
		"addresses":                {func(*Facts) {}, ""},
		"nodes":                    {setInstanceType, ""},
		"nodes of another account": {func(f *Facts) { setInstanceType(f); f.StoredBinding.Spec.IamRoleArnToAssume = "role" }, "spec.iamRoleArnToAssume"},
		"nodes behind QUIC": {func(f *Facts) {
			setInstanceType(f)
			x := elbv2.ProtocolQUIC
			f.StoredBinding.Spec.TargetGroupProtocol = &x
		}, "spec.targetGroupProtocol"},
		"functions": {func(f *Facts) { x := elbv2.TargetType("lambda"); f.StoredBinding.Spec.TargetType = &x }, "spec.targetGroupARN"},
	} {
		f := completeFacts(t)
		x.edit(f)
		got := ""
		if i := UnsupportedFinding(f.StoredBinding); i != nil {
			got = i.Field
		}
		if got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// podDemand returns the demand of a binding: a rule for the port in the security group of each pod with one of the
// addresses.
func podDemand(name string, port int32, addresses ...string) targets.RuleDemand {
	d := targets.RuleDemand{Ref: finding.Ref{Namespace: "ns", Name: name}}
	for _, a := range addresses {
		d.PodDemands = append(d.PodDemands, targets.EndpointDemand{Endpoint: a, Lookups: []targets.ENILookup{{Address: a}}, Rules: []model.IngressRule{portRule(port)}})
	}
	return d
}

func portRule(port int32) model.IngressRule {
	return model.IngressRule{Protocol: "tcp", From: port, To: port, Group: "sg-lb", Description: network.SharedRuleDescription}
}

// TestRuleChangesFollowFromAllDemands checks how the rules of security groups change for the demands of several bindings.
func TestRuleChangesFollowFromAllDemands(t *testing.T) {
	eni := func(groups ...string) network.ENI {
		var all []network.ENISecurityGroup
		for _, g := range groups {
			all = append(all, network.ENISecurityGroup{ID: g})
		}
		return network.ENI{ID: "eni", SecurityGroups: all}
	}
	found := ENIs{ByAddress: map[string]network.ENI{"1": eni("sg-1"), "2": eni("sg-2"), "x": eni("sg-1", "sg-3")}}
	faulty, lost := podDemand("a", 80, "1"), podDemand("a", 80)
	faulty.Faulty, lost.ENIUnknown = true, true
	for name, x := range map[string]struct {
		asks []targets.RuleDemand
		keep int32               // port of a rule of sg-1 that is retained for the first binding
		have []model.IngressRule // of sg-1
		want string
		done bool // whether all rules of the first binding exist after the changes
	}{
		"one asks":                                 {asks: []targets.RuleDemand{podDemand("a", 80, "1")}, want: "sg-1 +80", done: true},
		"in two groups":                            {asks: []targets.RuleDemand{podDemand("a", 80, "1", "2")}, want: "sg-1 +80, sg-2 +80", done: true},
		"two ask for the same":                     {asks: []targets.RuleDemand{podDemand("a", 80, "1"), podDemand("b", 80, "1")}, want: "sg-1 +80", done: true},
		"it is there":                              {asks: []targets.RuleDemand{podDemand("a", 80, "1")}, have: []model.IngressRule{portRule(80)}, done: true},
		"none asks for the other any more":         {asks: []targets.RuleDemand{podDemand("a", 80, "1")}, have: []model.IngressRule{portRule(80), portRule(81)}, want: "sg-1 -81", done: true},
		"old targets serve on":                     {asks: []targets.RuleDemand{podDemand("a", 80, "1")}, keep: 81, have: []model.IngressRule{portRule(81), portRule(82)}, want: "sg-1 +80 -82", done: true},
		"what one asks for is not known":           {asks: []targets.RuleDemand{podDemand("b", 80, "1"), lost}, have: []model.IngressRule{portRule(81)}, want: "sg-1 +80", done: true},
		"what one asks of a group is not known":    {asks: []targets.RuleDemand{podDemand("b", 80, "1"), faulty}, have: []model.IngressRule{portRule(81)}, want: "sg-1 +80", done: true},
		"an address is not known":                  {asks: []targets.RuleDemand{podDemand("a", 80, "1", "9")}, have: []model.IngressRule{portRule(81)}, want: "sg-1 +80"},
		"which of two groups it is is not known":   {asks: []targets.RuleDemand{podDemand("a", 80, "x")}, have: []model.IngressRule{portRule(81)}},
		"that keeps no rule of another group":      {asks: []targets.RuleDemand{podDemand("b", 80, "2"), faulty}, have: []model.IngressRule{portRule(80)}, want: "sg-2 +80", done: true},
		"a rule of another controller is not ours": {have: []model.IngressRule{{Protocol: "tcp", From: 22, To: 22, CIDR: "10.0.0.0/8", Description: "mine"}}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := RuleOptions{ClusterName: "c", KeepPortsSeparate: true, Now: now}
			sum, first := NewRuleAggregate(), RequestedRules{Complete: true}
			for i, d := range x.asks {
				a := RulesOfPods(d, found, o)
				if i == 0 {
					first = a
				}
				if i == 0 && x.keep > 0 {
					a.Contribution = a.WithPreviousRetained(Contribution{Rules: RuleSet{{"sg-1", portRule(x.keep)}: {}}})
				}
				sum.Set(Key{Namespace: d.Ref.Namespace, Name: d.Ref.Name}, a.Contribution)
			}
			var got []string
			for _, c := range sum.ChangesOf([]EndpointSecurityGroup{{ID: "sg-2"}, {ID: "sg-1", Ingress: x.have}}, o) {
				text := c.Group
				for _, r := range c.Authorize {
					text += fmt.Sprintf(" +%d", r.From)
				}
				for _, r := range c.Revoke {
					text += fmt.Sprintf(" -%d", r.From)
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != x.want {
				t.Errorf("got %s, want %s", strings.Join(got, ", "), x.want)
			}
			if first.Complete != x.done || (len(first.Findings) > 0) == x.done {
				t.Errorf("done %v, findings %v", first.Complete, first.Findings)
			}
		})
	}
}

// TestENIsOfAllEndpointsNeedOneQuery checks that one query contains the lookups of all endpoints, without duplicates. An
// instance that is only the second lookup of an endpoint need not have the address of the endpoint.
func TestENIsOfAllEndpointsNeedOneQuery(t *testing.T) {
	d := podDemand("a", 80, "10.0.0.2", "10.0.0.1", "10.0.0.2")
	d.PodDemands = append(d.PodDemands, targets.EndpointDemand{Lookups: []targets.ENILookup{{Instance: "i-1", EndpointIP: "10.0.0.3"}, {ENI: "eni-1"}}},
		targets.EndpointDemand{Lookups: []targets.ENILookup{{ENI: "eni-1"}, {Instance: "i-1", EndpointIP: "10.0.0.4"}}})
	q := ENIQueryFor(d)
	if got := fmt.Sprint(q.Instances, q.ExpectedAddresses, q.IDs, q.Addresses); got != "[i-1] map[i-1:[10.0.0.3]] [eni-1] [10.0.0.1 10.0.0.2]" {
		t.Error(got)
	}
}

// TestPreviewText checks the text of a preview with each kind of change, of one without changes and of one with many
// changes.
func TestPreviewText(t *testing.T) {
	f := completeFacts(t, "!1", "2")
	f.Health = healthOf("1 healthy", "3 unhealthy")
	f.Record = &TargetRecord{Shared: true, HasRecord: true, Identities: map[string]bool{"10.0.0.3:8080": true}}
	first := []Step{{AddFinalizer{}, "first"}}
	rules := []SecurityGroupChange{{Group: "sg-1", Authorize: []model.IngressRule{portRule(80)}, Revoke: []model.IngressRule{portRule(81)}}}
	d := PreviewOf(f, first, Make(f), []Step{{CompleteSpec{f.StoredBinding.Spec}, ""}, {RemoveFinalizer{}, ""}, {DropRecord{}, ""}}, rules, RulesResult{AllRulesExist: true})
	for _, want := range []string{
		"+ claim finalizer/TargetGroupBinding ns/b   # first\n",
		"+ authorize rule/" + portRule(80).String() + " in sg-1   # bindings request it\n",
		"- revoke rule/" + portRule(81).String() + " in sg-1   # no binding requests it\n",
		"~ set record/TargetGroupBinding ns/b: 3 targets   # before they are registered\n",
		"+ register target/10.0.0.2:8080 in arn/a   # the endpoint has no target\n",
		"- deregister target/10.0.0.3:8080 in arn/a: unhealthy   # the target is not an endpoint any more\n",
		"~ set spec/TargetGroupBinding ns/b: arn/a ip HTTP ipv4 vpc-1\n",
		"- release finalizer/TargetGroupBinding ns/b\n",
		"- clear record/TargetGroupBinding ns/b\n",
		"~ set readiness-gate/Pod ns/p1: True\n",
		"~ set condition/Ready: True SuccessfullyReconciled, Successfully reconciled\n",
		"~ set checkpoint/TargetGroupBinding ns/b\n",
	} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("%q is not in\n%s", want, d.Text())
		}
	}
	aws := map[string]bool{}
	for _, i := range d.AWSItems() {
		aws[i.Kind] = true
	}
	if len(aws) != 4 || aws["rule"] || aws["checkpoint"] || aws["condition"] {
		t.Errorf("changes that belong to AWS: %v", aws)
	}
	f = completeFacts(t)
	setUnchanged(f)
	if got := PreviewOf(f, nil, Make(f), nil, nil, RulesResult{}).Text(); got != "no changes\n. again in 1h0m0s   # to compare it with AWS\n" {
		t.Errorf("nothing changes: %q", got)
	}
	var many []PlanItem
	for i := range 45 {
		many = append(many, PlanItem{Sign: "+", Verb: "register", Kind: "target", Name: fmt.Sprint(i)})
	}
	if got := ItemsText(many); strings.Count(got, "\n") != 41 || !strings.HasSuffix(got, "… and 5 more\n") {
		t.Errorf("of many: %s", got)
	}
}

// TestUnregisteredPodsHaveTheSameCondition checks that the condition of a pod that is over the maximum number of targets
// does not contain the number of such pods. Otherwise the condition would change with other pods.
func TestUnregisteredPodsHaveTheSameCondition(t *testing.T) {
	f := completeFacts(t, "1", "!2", "!3")
	f.Health = healthOf("1 healthy")
	f.Options.MaxTargets = 1
	shown := map[string]string{}
	for _, s := range Make(f).Report(f, StepResults{RemovalNotNeeded: true, Rules: RulesResult{AllRulesExist: true}}).Steps {
		if g, ok := s.Do.(SetGate); ok {
			shown[g.Pod.Name] = string(g.Want.Status) + " " + g.Want.Message
		}
	}
	if shown["p2"] == "" || shown["p2"] != shown["p3"] || len(shown) != 2 || !strings.Contains(shown["p2"], "because a target group may have at most 1 targets") {
		t.Errorf("pods show %q", shown)
	}
}
