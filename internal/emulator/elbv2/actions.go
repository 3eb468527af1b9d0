package elbv2

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

var (
	statusPattern   = regexp.MustCompile(`^(2|4|5)\d\d$`)
	protocolPattern = regexp.MustCompile(`^(HTTPS?|#\{protocol\})$`)
)

// actionScope contains the load balancer, the listener and the rule for which actions are checked.
type actionScope struct {
	partition *store.Partition
	lb        *store.LoadBalancer
	listener  *store.Listener
	// replacedRule is the rule whose actions the new actions replace, or nil for a new rule. The new actions may use the
	// client secret of this rule.
	replacedRule *store.Rule
	// isDefault is set for the default actions of a listener.
	isDefault bool
}

// validateActions checks that actions satisfy the constraints of the API model. member is the name of the request member
// that contains them.
func (s *validation) validateActions(member string, actions []types.Action) {
	for i, a := range actions {
		at := fmt.Sprintf("%s.%d.member.", member, i+1)
		s.checkPresent(at+"type", a.Type != "")
		checkEnum(s, at+"type", a.Type, a.Type.Values())
		s.checkRange(at+"order", a.Order, 1, 50000)
		if f := a.FixedResponseConfig; f != nil {
			s.checkPresent(at+"fixedResponseConfig.statusCode", f.StatusCode != nil)
			s.checkPattern(at+"fixedResponseConfig.statusCode", f.StatusCode, statusPattern)
			s.checkLength(at+"fixedResponseConfig.messageBody", f.MessageBody, 0, 1024)
			s.checkLength(at+"fixedResponseConfig.contentType", f.ContentType, 0, 32)
		}
		if r := a.RedirectConfig; r != nil {
			s.checkPresent(at+"redirectConfig.statusCode", r.StatusCode != "")
			checkEnum(s, at+"redirectConfig.statusCode", r.StatusCode, r.StatusCode.Values())
			s.checkPattern(at+"redirectConfig.protocol", r.Protocol, protocolPattern)
			s.checkLength(at+"redirectConfig.host", r.Host, 1, 128)
			s.checkLength(at+"redirectConfig.path", r.Path, 1, 128)
			s.checkLength(at+"redirectConfig.query", r.Query, 0, 128)
		}
		if o := a.AuthenticateOidcConfig; o != nil {
			checkEnum(s, at+"authenticateOidcConfig.onUnauthenticatedRequest", o.OnUnauthenticatedRequest, o.OnUnauthenticatedRequest.Values())
		}
		if c := a.AuthenticateCognitoConfig; c != nil {
			checkEnum(s, at+"authenticateCognitoConfig.onUnauthenticatedRequest", c.OnUnauthenticatedRequest, c.OnUnauthenticatedRequest.Values())
		}
	}
}

// checkActions checks the actions of a rule or listener. It returns them in the form in which AWS returns them, but with the
// client secret.
func (s *listeners) checkActions(sc actionScope, in []types.Action) ([]types.Action, error) {
	if len(in) == 0 {
		return nil, validationError(store.UnprovenSource, "An action must be specified")
	}
	actions, err := orderActions(in)
	if err != nil {
		return nil, err
	}
	if err := checkActionTypes(actions); err != nil {
		return nil, err
	}
	last := actions[len(actions)-1]
	if !sc.lb.IsALB() && (last.Type != types.ActionTypeEnumForward || len(actions) > 1) {
		return nil, store.Errorf(store.UnprovenSource, codeAction, "The action type '%s' is not valid with network load balancer", actions[0].Type)
	}
	out := make([]types.Action, 0, len(actions))
	for i, a := range actions {
		if err := checkActionConfig(a); err != nil {
			return nil, err
		}
		stored := types.Action{Type: a.Type, Order: a.Order}
		if stored.Order == nil && !sc.isDefault {
			stored.Order = new(int32(i + 1))
		}
		if err := s.checkAction(sc, a, &stored); err != nil {
			return nil, err
		}
		out = append(out, stored)
	}
	return out, s.checkForwardTargetGroups(sc, out)
}

// orderActions returns the actions sorted by the member Order. If there are several actions, each must have a different
// order.
func orderActions(in []types.Action) ([]types.Action, error) {
	if len(in) == 1 {
		return in, nil
	}
	seen := map[int32]bool{}
	for _, a := range in {
		if a.Order == nil {
			return nil, validationError(store.UnprovenSource, "An order must be specified for each action when there is more than one action")
		}
		if seen[*a.Order] {
			return nil, validationError(store.UnprovenSource, "The order '%d' was specified for more than one action", *a.Order)
		}
		seen[*a.Order] = true
	}
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b types.Action) int { return cmp.Compare(*a.Order, *b.Order) })
	return out, nil
}

func isRouting(t types.ActionTypeEnum) bool {
	return t == types.ActionTypeEnumForward || t == types.ActionTypeEnumRedirect || t == types.ActionTypeEnumFixedResponse
}

// checkActionTypes returns an error unless the last action is the only routing action (forward, redirect or fixed response).
// Before it, there may be one authentication action and one JWT validation action.
func checkActionTypes(actions []types.Action) error {
	routing, auth, jwt := 0, 0, 0
	for _, a := range actions {
		switch {
		case isRouting(a.Type):
			routing++
		case a.Type == types.ActionTypeEnumJwtValidation:
			jwt++
		default:
			auth++
		}
	}
	switch {
	case routing == 0:
		return store.Errorf(store.UnprovenSource, codeAction, "The actions must end with an action of type 'forward', 'redirect' or 'fixed-response'")
	case routing > 1 || auth > 1 || jwt > 1:
		return store.Errorf(store.UnprovenSource, "TooManyActions", "There can be only one action of each kind, but there are %d", len(actions))
	case !isRouting(actions[len(actions)-1].Type):
		return store.Errorf(store.UnprovenSource, codeAction, "The action of type 'forward', 'redirect' or 'fixed-response' must be the last one")
	}
	return nil
}

// checkActionConfig returns an error unless the action has exactly the configuration for its type.
func checkActionConfig(a types.Action) error {
	configs := []struct {
		kind types.ActionTypeEnum
		name string
		set  bool
	}{
		{types.ActionTypeEnumForward, "ForwardConfig", a.ForwardConfig != nil || a.TargetGroupArn != nil},
		{types.ActionTypeEnumRedirect, "RedirectConfig", a.RedirectConfig != nil},
		{types.ActionTypeEnumFixedResponse, "FixedResponseConfig", a.FixedResponseConfig != nil},
		{types.ActionTypeEnumAuthenticateOidc, "AuthenticateOidcConfig", a.AuthenticateOidcConfig != nil},
		{types.ActionTypeEnumAuthenticateCognito, "AuthenticateCognitoConfig", a.AuthenticateCognitoConfig != nil},
		{types.ActionTypeEnumJwtValidation, "JwtValidationConfig", a.JwtValidationConfig != nil},
	}
	for _, g := range configs {
		switch {
		case g.set && g.kind != a.Type:
			return validationError(store.UnprovenSource, "'%s' cannot be specified for an action of type '%s'", g.name, a.Type)
		case !g.set && a.Type == types.ActionTypeEnumForward && g.kind == a.Type:
			return validationError(store.UnprovenSource, "A target group must be specified for an action of type 'forward'")
		case !g.set && g.kind == a.Type:
			return store.Errorf(store.ReportSource("hashicorp/terraform#32620"), codeAction, "For actions of type '%s', you must specify the following fields: '%s'", a.Type, g.name)
		}
	}
	return nil
}

// checkAction checks one action, and adds its configuration to stored in the form in which AWS returns it.
func (s *listeners) checkAction(sc actionScope, a types.Action, stored *types.Action) (err error) {
	if !isRouting(a.Type) && sc.listener.Protocol != types.ProtocolEnumHttps {
		return store.Errorf(store.UnprovenSource, codeAction, "Actions of type '%s' are supported only on HTTPS listeners", a.Type)
	}
	switch a.Type {
	case types.ActionTypeEnumForward:
		return s.checkForward(sc, a, stored)
	case types.ActionTypeEnumRedirect:
		stored.RedirectConfig, err = checkRedirect(sc, *a.RedirectConfig)
	case types.ActionTypeEnumFixedResponse:
		stored.FixedResponseConfig, err = checkFixedResponse(*a.FixedResponseConfig)
	case types.ActionTypeEnumAuthenticateOidc:
		stored.AuthenticateOidcConfig, err = checkOIDC(sc, *a.AuthenticateOidcConfig)
	case types.ActionTypeEnumAuthenticateCognito:
		stored.AuthenticateCognitoConfig, err = checkCognito(sc, *a.AuthenticateCognitoConfig)
	case types.ActionTypeEnumJwtValidation:
		stored.JwtValidationConfig, err = checkJWT(*a.JwtValidationConfig)
	}
	return err
}
