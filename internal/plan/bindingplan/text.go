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
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// maxItems is the maximum number of consecutive items of one kind that are printed.
const maxItems = 40

// PlanItem is one change in the printed plan, such as a target, a security group rule or a condition.
type PlanItem struct {
	Sign string // + create, ~ change, - delete
	Verb string // register, deregister, authorize, revoke, claim, release, set, clear
	// Kind is target, rule, finalizer, spec, record, checkpoint, readiness-gate or condition. Parent is the target group of a
	// target or the security group of a rule; otherwise it is empty.
	Kind, Name, Parent string
	// NewValue is the new value; "" if there is none.
	NewValue string
	Why      string
}

// ID returns the verb, the kind and the name of the item.
func (i PlanItem) ID() string {
	return i.Verb + " " + i.Kind + "/" + finding.EscapeNonPrintable(i.Name)
}

// String returns the item as one line of text.
func (i PlanItem) String() string {
	out := i.Sign + " " + i.ID()
	if i.Parent != "" {
		out += " in " + finding.EscapeNonPrintable(i.Parent)
	}
	if i.NewValue != "" {
		out += ": " + finding.EscapeNonPrintable(i.NewValue)
	}
	if i.Why != "" {
		out += "   # " + finding.EscapeNonPrintable(i.Why)
	}
	return out
}

// Items returns the changes that a step makes in AWS or Kubernetes. It returns none for steps that are not printed, such as
// a MemoryUpdate.
func (s Step) Items(f *Facts) []PlanItem {
	group := ""
	if f.CompletedBinding != nil {
		group = f.CompletedBinding.Spec.TargetGroupARN
	}
	single := func(sign, verb, kind, name, to string) []PlanItem {
		return []PlanItem{{sign, verb, kind, name, "", to, s.Why}}
	}
	binding := "TargetGroupBinding " + f.Key.String()
	switch action := s.Do.(type) {
	case Register:
		return s.targetItems("+", "register", group, len(action.Endpoints), func(i int) (string, string) { return f.registrationText(action.Endpoints[i]) })
	case Deregister:
		return s.targetItems("-", "deregister", group, len(action.Targets), func(i int) (string, string) {
			return targets.IdentityOf(action.Targets[i]), action.Targets[i].State
		})
	case AddFinalizer:
		return single("+", "claim", "finalizer", binding, "")
	case CompleteSpec:
		return single("~", "set", "spec", binding, specText(action.Spec))
	case RemoveFinalizer:
		return single("-", "release", "finalizer", binding, "")
	case SetRecord:
		return single("~", "set", "record", binding, plan.CountText(len(action.Identities), "target"))
	case DropRecord:
		return single("-", "clear", "record", binding, "")
	case SetCheckpoint:
		switch {
		case action.IfRulesMissing, action.Value == f.storedCheckpoint():
			return nil
		case action.Value == "":
			return single("-", "clear", "checkpoint", binding, "")
		}
		return single("~", "set", "checkpoint", binding, "")
	case SetGate:
		to := strings.TrimSpace(string(action.Want.Status) + " " + action.Want.Reason)
		if action.Want.Message != "" {
			to += ", " + action.Want.Message
		}
		return single("~", "set", "readiness-gate", "Pod "+action.Pod.Namespace+"/"+action.Pod.Name, to)
	case SetStatus:
		for _, c := range action.Conditions {
			if c.Type == readyCondition {
				return single("~", "set", "condition", readyCondition, string(c.Status)+" "+c.Reason+", "+c.Message)
			}
		}
	}
	return nil
}

// specText returns the fields of a spec that describe the target group. None of these fields may be nil.
func specText(s elbv2.TargetGroupBindingSpec) string {
	return strings.Join([]string{s.TargetGroupARN, string(*s.TargetType), string(*s.TargetGroupProtocol), string(*s.IPAddressType), s.VpcID}, " ")
}

// targetItems returns an item for each of n targets. name returns the identity and the new value of the target with an
// index.
func (s Step) targetItems(sign, verb, group string, n int, name func(int) (string, string)) []PlanItem {
	out := make([]PlanItem, n)
	for i := range out {
		id, to := name(i)
		out[i] = PlanItem{sign, verb, "target", id, group, to, s.Why}
	}
	return out
}

// registrationText returns the identity of an endpoint, and a text with the Availability Zone with which it is registered;
// "" if it is registered without a zone.
func (f *Facts) registrationText(e targets.Endpoint) (id, zone string) {
	list, err := f.TargetsFor([]targets.Endpoint{e})
	if err != nil || list[0].Zone == "" {
		return e.Identity(), ""
	}
	return e.Identity(), "zone " + list[0].Zone
}

// Items returns an item for each rule that is authorized or revoked.
func (c SecurityGroupChange) Items() []PlanItem {
	var out []PlanItem
	add := func(sign, verb string, rules []model.IngressRule, why string) {
		for _, r := range rules {
			out = append(out, PlanItem{sign, verb, "rule", r.String(), c.Group, "", why})
		}
	}
	add("+", "authorize", c.Authorize, "bindings request it")
	add("-", "revoke", c.Revoke, "no binding requests it")
	return out
}

// ItemsText returns one line for each item. Of consecutive items of one kind, it prints at most maxItems.
func ItemsText(items []PlanItem) string {
	var b strings.Builder
	for len(items) > 0 {
		n := slices.IndexFunc(items, func(i PlanItem) bool {
			return i.Sign != items[0].Sign || i.Kind != items[0].Kind || i.Parent != items[0].Parent
		})
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

// Preview has the changes that a run would make if each of its steps succeeds.
type Preview struct {
	Steps []Step // in order
	// Rules has the changes of security groups for all bindings. They are shown instead of the step SyncRules.
	Rules  []SecurityGroupChange
	Report Report
	// ReadError is the error of a read of a fact that the plan needs, so that it is not known what the run changes; nil if
	// there is none.
	ReadError error
	facts     *Facts
}

// PreviewOf returns the preview of the plan p. before and after are the steps of earlier and later plans of the same run.
// rules has the changes of security groups, and result is the result of these changes for the binding.
func PreviewOf(f *Facts, before []Step, p Plan, after []Step, rules []SecurityGroupChange, result RulesResult) Preview {
	d := Preview{Steps: slices.Concat(before, p.Steps, after), Rules: rules, ReadError: p.ReadError(), facts: f}
	done := StepResults{RemovalNotNeeded: true, Rules: result, AWSChanged: len(rules) > 0}
	for _, s := range d.Steps {
		switch s.Do.(type) {
		case Register, Deregister:
			done.AWSChanged = true
		}
	}
	d.Report = p.Report(f, done)
	return d
}

// Items returns all changes of the plans, in order. It does not include the changes of the report.
func (d Preview) Items() []PlanItem {
	var out []PlanItem
	for _, s := range d.Steps {
		if action, ok := s.Do.(SyncRules); ok {
			if action.OnlyIfRequested {
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

// AWSItems returns the targets that are registered and deregistered, and the changes of spec, finalizer and record. It omits
// the security group rules, which belong to all bindings.
func (d Preview) AWSItems() []PlanItem {
	var out []PlanItem
	for _, s := range d.Steps {
		switch s.Do.(type) {
		case Register, Deregister, CompleteSpec, AddFinalizer, RemoveFinalizer, SetRecord, DropRecord:
			out = append(out, s.Items(d.facts)...)
		}
	}
	return out
}

// Findings returns the findings that the run would report.
func (d Preview) Findings() finding.List { return d.Report.Findings.Sorted() }

// Text returns the preview as text: first the changes of the plans, then the changes in Kubernetes that report the result,
// then the time of the next run.
func (d Preview) Text() string {
	var after []PlanItem
	for _, s := range d.Report.Steps {
		after = append(after, s.Items(d.facts)...)
	}
	out := ItemsText(slices.Concat(d.Items(), after))
	if out == "" {
		out = "no changes\n"
	}
	if d.Report.RetryAfter > 0 {
		out += fmt.Sprintf(". again in %s   # %s\n", d.Report.RetryAfter.Round(time.Second), cmp.Or(d.Report.Why, "unless something changes"))
	}
	return out
}
