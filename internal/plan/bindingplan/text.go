package bindingplan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// mostItems is how many targets or rules of a step are printed.
const maxItems = 40

// Item is a part of a step for people and tools: a target, a rule, a condition.
type Item struct {
	Sign string // + create, ~ change, - delete
	Verb string // register, deregister, authorize, revoke, claim, release, set, clear
	// Kind is target, rule, finalizer, spec, record, checkpoint, readiness-gate or condition; In is the target group or
	// security group.
	Kind, Name, In string
	// To is what is set, "" if there is nothing to set.
	To  string
	Why string
}

// ID names what is done to what.
func (i Item) ID() string { return i.Verb + " " + i.Kind + "/" + finding.Printable(i.Name) }

// String returns the item in one line.
func (i Item) String() string {
	out := i.Sign + " " + i.ID()
	if i.In != "" {
		out += " in " + finding.Printable(i.In)
	}
	if i.To != "" {
		out += ": " + finding.Printable(i.To)
	}
	if i.Why != "" {
		out += "   # " + finding.Printable(i.Why)
	}
	return out
}

// Items returns what a step changes outside of the process; none for what it only remembers.
func (s Step) Items(f *Facts) []Item {
	group := ""
	if f.Described != nil {
		group = f.Described.Spec.TargetGroupARN
	}
	one := func(sign, verb, kind, name, to string) []Item { return []Item{{sign, verb, kind, name, "", to, s.Why}} }
	binding := "TargetGroupBinding " + f.Key.String()
	switch do := s.Do.(type) {
	case Register:
		return s.targets("+", "register", group, len(do.Endpoints), func(i int) (string, string) { return f.registered(do.Endpoints[i]) })
	case Deregister:
		return s.targets("-", "deregister", group, len(do.Targets), func(i int) (string, string) {
			return targets.IdentityOf(do.Targets[i]), do.Targets[i].State
		})
	case AddFinalizer:
		return one("+", "claim", "finalizer", binding, "")
	case CompleteSpec:
		return one("~", "set", "spec", binding, specText(do.Spec))
	case RemoveFinalizer:
		return one("-", "release", "finalizer", binding, "")
	case SetRecord:
		return one("~", "set", "record", binding, fmt.Sprintf("%d targets", len(do.Identities)))
	case DropRecord:
		return one("-", "clear", "record", binding, "")
	case SetCheckpoint:
		switch {
		case do.IfRulesMissing, do.Value == f.checkpoint():
			return nil
		case do.Value == "":
			return one("-", "clear", "checkpoint", binding, "")
		}
		return one("~", "set", "checkpoint", binding, "")
	case SetGate:
		to := strings.TrimSpace(string(do.Want.Status) + " " + do.Want.Reason)
		if do.Want.Message != "" {
			to += ", " + do.Want.Message
		}
		return one("~", "set", "readiness-gate", "Pod "+do.Pod.Namespace+"/"+do.Pod.Name, to)
	case SetStatus:
		for _, c := range do.Conditions {
			if c.Type == ready {
				return one("~", "set", "condition", ready, string(c.Status)+" "+c.Reason+", "+c.Message)
			}
		}
	}
	return nil
}

// specText returns the part of a spec that describes the target group.
func specText(s elbv2.TargetGroupBindingSpec) string {
	return strings.Join([]string{s.TargetGroupARN, string(*s.TargetType), string(*s.TargetGroupProtocol), string(*s.IPAddressType), s.VpcID}, " ")
}

// targets has an item for each target, of which name gives the identity and what else is to be said.
func (s Step) targets(sign, verb, group string, n int, name func(int) (string, string)) []Item {
	out := make([]Item, n)
	for i := range out {
		id, to := name(i)
		out[i] = Item{sign, verb, "target", id, group, to, s.Why}
	}
	return out
}

// registered returns an endpoint and the zone that it is registered with.
func (f *Facts) registered(e targets.Endpoint) (id, zone string) {
	list, err := f.Targets([]targets.Endpoint{e})
	if err != nil || list[0].Zone == "" {
		return e.Identity(), ""
	}
	return e.Identity(), "zone " + list[0].Zone
}

// Items returns the rules that are changed.
func (c GroupChange) Items() []Item {
	var out []Item
	add := func(sign, verb string, rules []model.IngressRule, why string) {
		for _, r := range rules {
			out = append(out, Item{sign, verb, "rule", r.String(), c.Group, "", why})
		}
	}
	add("+", "authorize", c.Authorize, "bindings ask for it")
	add("-", "revoke", c.Revoke, "no binding asks for it")
	return out
}

// Text returns items in readable form, a line each. Of many of one kind, some are left out.
func Text(items []Item) string {
	var b strings.Builder
	for len(items) > 0 {
		n := slices.IndexFunc(items, func(i Item) bool { return i.Sign != items[0].Sign || i.Kind != items[0].Kind || i.In != items[0].In })
		if n < 0 {
			n = len(items)
		}
		for _, i := range items[:min(n, maxItems)] {
			fmt.Fprintln(&b, i)
		}
		if n > maxItems {
			fmt.Fprintf(&b, "    … and %d more\n", n-maxItems)
		}
		items = items[n:]
	}
	return b.String()
}

// Preview is what a run would do if every step succeeded.
type Preview struct {
	Steps []Step // in their order
	// Rules are to be changed on behalf of all bindings, in the place of the step SyncRules.
	Rules  []GroupChange
	Report Report
	facts  *Facts
}

// DraftOf returns the plan of a binding that nothing is remembered of, as a whole. Rules and opening are the changes of
// security groups, and more are steps of what is done afterwards.
func PreviewOf(f *Facts, first []Step, p Plan, more []Step, rules []GroupChange, opening RulesResult) Preview {
	d := Preview{Steps: slices.Concat(first, p.Steps, more), Rules: rules, facts: f}
	done := StepResults{NoRemoval: true, Rules: opening, Changed: len(rules) > 0}
	for _, s := range d.Steps {
		switch s.Do.(type) {
		case Register, Deregister:
			done.Changed = true
		}
	}
	d.Report = p.Report(f, done)
	return d
}

// Items returns all changes, in order.
func (d Preview) Items() []Item {
	var out []Item
	for _, s := range d.Steps {
		if do, ok := s.Do.(SyncRules); ok {
			if do.IfAsked {
				continue
			}
			for _, c := range d.Rules {
				out = append(out, c.Items()...)
			}
			continue
		}
		out = append(out, s.Items(d.facts)...)
	}
	return out
}

// AWSItems returns the targets that are registered and deregistered, and the finalizer and the record that go with
// them. The rules are left out.
func (d Preview) AWSItems() []Item {
	var out []Item
	for _, s := range d.Steps {
		switch s.Do.(type) {
		case Register, Deregister, CompleteSpec, AddFinalizer, RemoveFinalizer, SetRecord, DropRecord:
			out = append(out, s.Items(d.facts)...)
		}
	}
	return out
}

// Findings returns the findings that a run reports.
func (d Preview) Findings() finding.List { return d.Report.Findings.Sorted() }

// Text returns the draft for people: the changes, then what is reported in Kubernetes, then when the next run is.
func (d Preview) Text() string {
	var after []Item
	for _, s := range d.Report.Steps {
		after = append(after, s.Items(d.facts)...)
	}
	out := Text(slices.Concat(d.Items(), after))
	if out == "" {
		out = "no changes\n"
	}
	if d.Report.RetryAfter > 0 {
		out += fmt.Sprintf(". again in %s   # %s\n", d.Report.RetryAfter.Round(time.Second), cmp.Or(d.Report.Why, "unless something changes"))
	}
	return out
}
