package planner_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

func randomAddOns(r *rand.Rand) model.AddOns {
	var out model.AddOns
	if r.IntN(2) == 0 {
		out.WebACL = []*model.WebACL{{}, {ARN: "arn:1"}, {ARN: "arn:2"}, {Name: "edge"}}[r.IntN(4)]
	}
	if r.IntN(2) == 0 {
		out.ClassicACL = []*model.ClassicACL{{}, {ID: "old"}}[r.IntN(2)]
	}
	if r.IntN(2) == 0 {
		out.Shield = &model.Shield{On: r.IntN(2) == 0}
	}
	return out
}

func addOnFacts() observed.Facts {
	f := testFacts()
	f.WebACLs = map[string]observed.WebACL{"edge": {ARN: "arn:edge"}}
	f.Subscription = &observed.Subscription{Active: true}
	f.TrustStores = map[string]string{"clients": "arn:clients", "missing": ""}
	return f
}

func TestAddOnsConvergeAndStayUnchanged(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 150, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		have := observed.Stack{Facts: addOnFacts()}
		asked := map[model.AddOn]string{}
		for range 4 {
			want := randomDesired(r)
			want.LoadBalancer.AddOns = randomAddOns(r)
			have = converge(t, want, have)
			lb := have.LiveLoadBalancer(model.LoadBalancerID)
			if lb == nil {
				continue
			}
			if w := want.LoadBalancer.AddOns.WebACL; w != nil {
				asked[model.WAFv2] = strings.Replace(w.ARN+w.Name, "edge", "arn:edge", 1)
			}
			if w := want.LoadBalancer.AddOns.ClassicACL; w != nil {
				asked[model.WAFClassic] = w.ID
			}
			if w := want.LoadBalancer.AddOns.Shield; w != nil {
				asked[model.ShieldAdvanced] = ""
				if w.On {
					asked[model.ShieldAdvanced] = "protection/" + model.LoadBalancerID
				}
			}
			for of, id := range asked {
				if got := have.Facts.AddOns[model.AskAddOn{Of: of, ARN: lb.ARN}.Key()].ID; got != id {
					t.Fatalf("seed %d: %s is %q, want %q", seed, of, got, id)
				}
			}
		}
	})
}

func TestAddOnStepsDependOnOwner(t *testing.T) {
	live := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: addOnFacts()})
	arn := live.LiveLoadBalancer(model.LoadBalancerID).ARN
	of := finding.Origin{Object: testMember, Field: "x"}
	for name, c := range map[string]struct {
		desired model.AddOns
		have    map[model.AddOn]observed.AddOn
		steps   string
		retried bool // reports whether the step waits for the service
	}{
		"nothing desired leaves everything": {
			have: map[model.AddOn]observed.AddOn{model.WAFv2: {ID: "arn"}, model.ShieldAdvanced: {ID: "1", Name: plan.ProtectionName}},
		},
		"a protection of another user stays": {
			desired: model.AddOns{Shield: &model.Shield{Of: of}},
			have:    map[model.AddOn]observed.AddOn{model.ShieldAdvanced: {ID: "1", Name: "security team"}},
		},
		"a protection of an older controller goes": {
			desired: model.AddOns{Shield: &model.Shield{Of: of}},
			have:    map[model.AddOn]observed.AddOn{model.ShieldAdvanced: {ID: "1", Name: plan.LegacyProtectionName}},
			steps:   "dissociate protection/LoadBalancer",
		},
		"a protection of anybody is enough": {
			desired: model.AddOns{Shield: &model.Shield{On: true, Of: of}},
			have:    map[model.AddOn]observed.AddOn{model.ShieldAdvanced: {ID: "1", Name: "security team"}},
		},
		"a classic web ACL is removed before a new web ACL is added": {
			desired: model.AddOns{WebACL: &model.WebACL{ARN: "arn", Of: of}, ClassicACL: &model.ClassicACL{Of: of}},
			have:    map[model.AddOn]observed.AddOn{model.WAFv2: {}, model.WAFClassic: {ID: "old"}},
			steps:   "dissociate classic-web-acl/LoadBalancer\nassociate web-acl/LoadBalancer",
		},
		"a service that does not answer is asked again": {
			desired: model.AddOns{WebACL: &model.WebACL{ARN: "arn", Of: of}},
			have:    map[model.AddOn]observed.AddOn{model.WAFv2: {Fault: &observed.Fault{Message: "down"}}},
			steps:   "associate web-acl/LoadBalancer",
			retried: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := live
			have.Facts.AddOns = map[string]observed.AddOn{}
			for of, v := range c.have {
				have.Facts.AddOns[model.AskAddOn{Of: of, ARN: arn}.Key()] = v
			}
			want := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
			want.LoadBalancer.AddOns = c.desired
			p, _ := planner.Make(want, have, testOptions, plan.Memory{})
			if diff := cmp.Diff(c.steps, stepIDsText(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.retried && (len(p.Steps) != 1 || p.Steps[0].Wait.RetryAfter != durations.OutageWait) {
				t.Errorf("it does not wait:\n%s", p.Text())
			}
		})
	}
}

func TestUnknownTrustStoreHoldsItsListener(t *testing.T) {
	desired := func(store string) model.Stack {
		s := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
		s.LoadBalancer.Listeners[0].TLS = &model.TLS{
			Policy: "p", Certificates: []model.CertChoice{model.CertARNs{Member: testMember, ARNs: []string{"iam"}}},
			MutualAuth: &model.MutualAuth{Mode: "verify", TrustStore: store, Of: finding.Origin{Object: testMember, Field: "mutual"}},
		}
		return s
	}
	have := converge(t, desired("clients"), observed.Stack{Facts: addOnFacts()})
	got := have.LiveLoadBalancer(model.LoadBalancerID).Listeners[0].MutualAuth
	if diff := cmp.Diff(&model.MutualAuth{Mode: "verify", TrustStore: "arn:clients"}, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	p, found := planner.Make(desired("missing"), have, testOptions, plan.Memory{})
	if len(stepsInOrder(p)) > 0 || found.LargestReach() != finding.BlocksListener {
		t.Errorf("an unknown trust store is not held: %v\n%s", found, p.Text())
	}
	open := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: addOnFacts()})
	p, _ = planner.Make(desired("missing"), open, testOptions, plan.Memory{})
	if len(stepsInOrder(p)) > 0 {
		t.Errorf("a listener without mutual authentication changes:\n%s", p.Text())
	}
}
