package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// Whether something is held is recorded in model.Stack.Held, and in Held of rules and default actions. The frontend and the
// engine set it, and planner.resolve adds what cannot be resolved: nothing else decides that something is held.

// NotFoundResponse is the default action of an ALB listener that has no default backend: requests that match no rule
// are answered with 404.
var NotFoundResponse = model.FixedResponse{Status: "404", ContentType: "text/plain"}

// HeldResponse is the action of a held rule that has no live form to keep. Without it, requests for that rule would
// match a later rule or the default action.
var HeldResponse = model.FixedResponse{Status: "503", ContentType: "text/plain", Body: "Rule is held because its configuration is not valid"}

// IsHeldResponse reports whether the actions are HeldResponse alone, so that the rule is the placeholder of a held
// rule.
func IsHeldResponse(actions []model.Action) bool {
	return len(actions) == 1 && actions[0] == model.Action(HeldResponse)
}

// IsErrorResponse reports whether the actions only answer with an error (HeldResponse, or a 4xx or 5xx without a
// body). A rule with such actions needs no right to a backend.
func IsErrorResponse(actions []model.Action) bool {
	if len(actions) != 1 {
		return false
	}
	a, ok := actions[0].(model.FixedResponse)
	return ok && a.Body == "" && (strings.HasPrefix(a.Status, "4") || strings.HasPrefix(a.Status, "5")) || IsHeldResponse(actions)
}

// ForwardsTo reports whether the actions forward to the target group with this ARN, with whatever weight.
func ForwardsTo(actions []model.Action, arn string) bool {
	f := equal.ForwardOf(actions)
	return f != nil && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return g.Group.ARN == arn })
}

// RefusedResponse answers requests for backends that the route may not reference. The Gateway API demands status 500
// for them.
var RefusedResponse = model.FixedResponse{Status: "500", ContentType: "text/plain"}
