package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// What is held is said by want.Held, and by Held of rules and default actions. The frontend and the engine
// set it, and resolve adds what cannot be resolved: nothing else decides that something is held.

// NotFound answers what no rule of anybody matches.
var NotFound = model.FixedResponse{Status: "404", ContentType: "text/plain"}

// HeldAnswer stands in for a rule that cannot be built and is not live, so that requests meant
// for it do not fall through to a rule that was never meant for them.
var HeldAnswer = model.FixedResponse{Status: "503", ContentType: "text/plain", Body: "Rule is held because its configuration is not valid"}

// Refuses reports whether actions are the 503 of a held rule.
func Refuses(actions []model.Action) bool {
	return len(actions) == 1 && actions[0] == model.Action(HeldAnswer)
}

// OnlyRefuses reports whether actions do nothing but refuse requests, which needs no right.
func OnlyRefuses(actions []model.Action) bool {
	if len(actions) != 1 {
		return false
	}
	a, ok := actions[0].(model.FixedResponse)
	return ok && a.Body == "" && (strings.HasPrefix(a.Status, "4") || strings.HasPrefix(a.Status, "5")) || Refuses(actions)
}

// ForwardsTo reports whether actions forward to a target group.
func ForwardsTo(actions []model.Action, arn string) bool {
	f := equal.ForwardOf(actions)
	return f != nil && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return g.Group.ARN == arn })
}

// Authority comes before validity: what members have no right to any more stops serving at once, on every load
// balancer of the stack, whatever is held, waits or is replaced. The rest of the plan is made from what remains, so that
// nothing without a right can be kept by it.

// Refused answers requests for backends that may not be referenced, as the Gateway API says.
var Refused = model.FixedResponse{Status: "500", ContentType: "text/plain"}
