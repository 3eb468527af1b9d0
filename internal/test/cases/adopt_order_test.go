package cases

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// checkTagOrder checks the order in which tags are added and removed. A controller without support for adoptions may be
// started at any moment. It must find all resources of a stack, or must fail before it changes anything, because it cannot
// create a security group whose name is in use.
func (a *adoption) checkTagOrder() {
	all := a.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	p := all.Partition(harness.Account, harness.Region)
	for i, g := range a.ingressGroups {
		gateway := model.StackID{Kind: model.ALBGateway, Namespace: g.Gateway.Namespace, Name: g.Gateway.Name}
		has := func(tags map[string]string, id model.StackID) bool {
			return tags[naming.StackTag(id.Kind)] == naming.StackTagValue(id)
		}
		var lb map[string]string
		for _, x := range p.ELB.LoadBalancers {
			if x.ARN == a.arns[i] {
				lb = x.Tags
			}
		}
		both := has(lb, g.ID) && has(lb, gateway)
		group, handed, rest := false, false, false
		for id := range p.SecurityGroups {
			handed, group = handed || has(p.Tags[id], gateway), group || has(p.Tags[id], g.ID)
		}
		kept := group
		for _, x := range p.ELB.TargetGroups {
			handed, kept = handed || has(x.Tags, gateway), kept || has(x.Tags, g.ID)
			rest = rest || has(x.Tags, gateway) && !has(x.Tags, g.ID)
		}
		switch {
		case handed && kept && !both:
			a.t.Errorf("%s: resources have tags of both stacks, but the load balancer has %v", a.step, lb)
		case a.step == "adopt" && group && rest:
			a.t.Errorf("%s: target groups are handed over before the security group", a.step)
		case both && (lb[naming.AdoptedTag] == "" || len(naming.AdoptedNamespaces(lb)) == 0):
			a.t.Errorf("%s: the load balancer has no adoption tags", a.step)
		}
	}
}

// nameInAWS matches generated names, which AWS cannot change.
var nameInAWS = regexp.MustCompile(`k8s-[a-z0-9-]+-[0-9a-f]{8,10}`)

// checkEqualsNewResources checks that the adopted resources equal, except for their names, those that the Gateway would have
// created. A controller without support for adoptions then finds nothing to change.
func (a *adoption) checkEqualsNewResources(load func(*harness.Harness), result migrate.Result) {
	a.t.Helper()
	fresh := NewHarness(a.t, harness.Options{})
	load(fresh)
	for _, o := range fresh.Store.All(cluster.KindIngress) {
		if err := fresh.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: o.GetNamespace(), Name: o.GetName()}); err != nil {
			a.t.Fatal(err)
		}
	}
	for _, o := range result.Objects() {
		obj := o.Object.DeepCopyObject().(cluster.Object)
		obj.SetAnnotations(nil)
		if err := fresh.Store.Apply(obj); err != nil {
			a.t.Fatal(err)
		}
	}
	fresh.Settle(controllerRunTime)
	state := func(r *harness.Harness) (out []string) {
		for _, line := range r.State() {
			out = append(out, nameInAWS.ReplaceAllString(sortConditions(a.t, line), "k8s-name"))
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff(state(fresh), state(a.r)); diff != "" {
		a.t.Errorf("adopted resources differ from new ones (-new +adopted):\n%s", diff)
	}
}

// sortConditions sorts the conditions in a line about a rule, because their order has no meaning. It returns other lines
// unchanged.
func sortConditions(t *testing.T, line string) string {
	text, rule := strings.CutPrefix(line, "rule ")
	if !rule {
		return line
	}
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		t.Fatal(err)
	}
	var conditions []json.RawMessage
	if err := json.Unmarshal(parts[3], &conditions); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(conditions, func(a, b json.RawMessage) int { return strings.Compare(string(a), string(b)) })
	return fmt.Sprintf("rule %s %s %s", parts[:3], conditions, parts[4:])
}
