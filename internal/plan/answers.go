package plan

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The fields named Held of model.Stack, of rules and of default actions record which parts of a stack are held. Translation
// and the engine set these fields. The planner adds parts for which it cannot make a choice. No other code decides what is
// held.

// NotFoundResponse is the default action of an ALB listener that has no default backend: requests that match no rule
// are answered with 404.
var NotFoundResponse = model.FixedResponse{Status: "404", ContentType: "text/plain"}

// HeldResponse is the action of a held rule that does not exist in AWS. Without this action, a rule with a lower precedence
// or the default action would answer the requests for the held rule.
var HeldResponse = model.FixedResponse{Status: "503", ContentType: "text/plain", Body: "Rule is held because its configuration is not valid"}

// IsHeldResponse reports whether HeldResponse is the only action. A rule with these actions is the placeholder of a held
// rule.
func IsHeldResponse(actions []model.Action) bool {
	return len(actions) == 1 && actions[0] == model.Action(HeldResponse)
}

// IsErrorResponse reports whether the only action is an error response: HeldResponse, or a 4xx or 5xx response without a
// body. A rule with such an action uses no backend, and therefore needs no permission for a backend.
func IsErrorResponse(actions []model.Action) bool {
	if len(actions) != 1 {
		return false
	}
	a, ok := actions[0].(model.FixedResponse)
	return ok && a.Body == "" && (strings.HasPrefix(a.Status, "4") || strings.HasPrefix(a.Status, "5")) || IsHeldResponse(actions)
}

// ForwardsTo reports whether the actions forward to the target group with the given ARN, even with weight 0.
func ForwardsTo(actions []model.Action, arn string) bool {
	return slices.ContainsFunc(model.ForwardedTargetGroups(actions), func(g model.WeightedTargetGroup) bool { return g.Group.ARN == arn })
}

// RefusedResponse is the response to requests for backends that the route may not reference. The Gateway API requires status
// 500.
var RefusedResponse = model.FixedResponse{Status: "500", ContentType: "text/plain"}
