package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// DifferenceText returns a human-readable text of a change that AWS did not persist: the desired value, and the value that
// AWS returns.
func (c Change) DifferenceText() string {
	value := func(v string) string {
		if v == "" {
			return "nothing"
		}
		return fmt.Sprintf("%q", clip(v))
	}
	return clip(c.Path) + ": desired " + value(c.To) + ", AWS returns " + value(c.From)
}

// DifferencesAfterCreation returns the differences between the rule or target group that an action has created and the
// resource with this ARN in the observed state. The result is empty if AWS does not return the resource yet, and for other
// actions.
func DifferencesAfterCreation(do Action, arn string, have observed.Stack) (out []Change) {
	differ := func(path, asked, shown string) {
		if asked != shown {
			out = append(out, Change{Path: path, From: shown, To: asked})
		}
	}
	switch do := do.(type) {
	case CreateRule:
		shown, ok := liveRule(have, arn)
		if !ok {
			return nil
		}
		asked, has := conditionTexts(do.Rule.Conditions), conditionTexts(shown.Conditions)
		only := func(of, other []string) string {
			return strings.Join(slices.DeleteFunc(slices.Clone(of), func(c string) bool { return slices.Contains(other, c) }), ", ")
		}
		differ("conditions", only(asked, has), only(has, asked))
		if !equal.SameActions(do.Rule.Actions, shown.Actions, func(g model.TargetGroupRef) string { return liveTargetGroupARN(have, g) }) {
			differ("actions", ActionsText(do.Rule.Actions), ActionsText(withTargetGroupIDs(shown.Actions, have)))
		}
		var ask, show fields
		ask.addTransforms(do.Rule.Transforms)
		show.addTransforms(shown.Transforms)
		differ("transforms", fmt.Sprint(ask), fmt.Sprint(show))
	case CreateTargetGroup:
		i := slices.IndexFunc(have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == arn })
		if i < 0 {
			return nil
		}
		w, g := do.Group, have.TargetGroups[i]
		differ("target type", string(w.Type), string(g.Type))
		differ("protocol", w.Protocol, g.Protocol)
		differ("protocol version", w.ProtocolVersion, g.ProtocolVersion)
		differ("port", formatInt32(w.Port), formatInt32(g.Port))
		differ("address type", string(w.AddressType), string(g.AddressType))
		port := func(n *int32) string {
			if n == nil {
				return ""
			}
			return formatInt32(*n)
		}
		differ("target control port", port(w.ControlPort), port(g.ControlPort))
	}
	return out
}

func liveRule(have observed.Stack, arn string) (observed.Rule, bool) {
	for _, lb := range have.LoadBalancers {
		for _, l := range lb.Listeners {
			for _, r := range l.Rules {
				if r.ARN == arn {
					return r, true
				}
			}
		}
	}
	return observed.Rule{}, false
}

// liveTargetGroupARN returns the ARN of the target group that a forward action refers to; empty if it does not exist.
func liveTargetGroupARN(have observed.Stack, g model.TargetGroupRef) string {
	switch {
	case g.ARN != "":
		return g.ARN
	case g.Name != "":
		return have.Facts.TargetGroups[g.Name]
	}
	for _, t := range have.TargetGroups {
		if t.ResourceID == g.ID {
			return t.ARN
		}
	}
	return ""
}

// conditionTexts returns one human-readable text for each condition.
func conditionTexts(conditions []model.Condition) (out []string) {
	for _, c := range conditions {
		out = append(out, ConditionsText([]model.Condition{c}))
	}
	return out
}

// withTargetGroupIDs returns observed actions in which resource ids replace the ARNs of target groups. Desired actions also
// have resource ids, so that the texts of both can be compared.
func withTargetGroupIDs(actions []model.Action, have observed.Stack) []model.Action {
	return model.WithReplacedTargetGroups(actions, func(g model.TargetGroupRef) model.TargetGroupRef {
		at := slices.IndexFunc(have.TargetGroups, func(t observed.TargetGroup) bool { return t.ARN == g.ARN && t.ResourceID != "" })
		if at < 0 {
			return g
		}
		return model.TargetGroupRef{ID: have.TargetGroups[at].ResourceID}
	})
}
