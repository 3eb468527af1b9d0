package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Placeholders in redirects. A field with its placeholder keeps the value of the request.
const (
	hostPlaceholder     = "#{host}"
	pathPlaceholder     = "/#{path}"
	portPlaceholder     = "#{port}"
	protocolPlaceholder = "#{protocol}"
	queryPlaceholder    = "#{query}"
)

// TargetGroupARNFunc returns the ARN of the target group to which an action refers.
type TargetGroupARNFunc func(model.TargetGroupRef) (string, error)

// ActionsToAWS converts the actions of a rule or a listener. It numbers them from 1 in the order of the list.
func ActionsToAWS(actions []model.Action, arnOf TargetGroupARNFunc) ([]elbtypes.Action, error) {
	out := make([]elbtypes.Action, 0, len(actions))
	for i, a := range actions {
		x, err := actionToAWS(a, arnOf)
		if err != nil {
			return nil, err
		}
		x.Order = aws.Int32(int32(i + 1))
		out = append(out, x)
	}
	return out, nil
}

func actionToAWS(a model.Action, arnOf TargetGroupARNFunc) (elbtypes.Action, error) {
	switch a := a.(type) {
	case model.Forward:
		return forwardToAWS(a, arnOf)
	case model.Redirect:
		c := &elbtypes.RedirectActionConfig{
			StatusCode: elbtypes.RedirectActionStatusCodeEnum(a.Status),
			Host:       NilIfEmpty(a.Host), Path: NilIfEmpty(a.Path), Port: NilIfEmpty(a.Port),
			Protocol: NilIfEmpty(a.Protocol), Query: NilIfEmpty(a.Query),
		}
		if a.DropQuery {
			c.Query = aws.String("")
		}
		return elbtypes.Action{Type: elbtypes.ActionTypeEnumRedirect, RedirectConfig: c}, nil
	case model.FixedResponse:
		return elbtypes.Action{Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{
			StatusCode: aws.String(a.Status), ContentType: NilIfEmpty(a.ContentType), MessageBody: NilIfEmpty(a.Body),
		}}, nil
	case model.AuthOIDC:
		return elbtypes.Action{Type: elbtypes.ActionTypeEnumAuthenticateOidc, AuthenticateOidcConfig: oidcToAWS(a)}, nil
	case model.AuthCognito:
		return elbtypes.Action{Type: elbtypes.ActionTypeEnumAuthenticateCognito, AuthenticateCognitoConfig: &elbtypes.AuthenticateCognitoActionConfig{
			UserPoolArn: aws.String(a.UserPoolARN), UserPoolClientId: aws.String(a.ClientID), UserPoolDomain: aws.String(a.Domain),
			AuthenticationRequestExtraParams: maps.Clone(a.ExtraParams),
			OnUnauthenticatedRequest:         elbtypes.AuthenticateCognitoActionConditionalBehaviorEnum(a.OnUnauthenticated),
			Scope:                            NilIfEmpty(a.Scope), SessionCookieName: NilIfEmpty(a.SessionCookie),
			SessionTimeout: NilIfZero(a.SessionTimeout),
		}}, nil
	case model.ValidateJWT:
		c := &elbtypes.JwtValidationActionConfig{JwksEndpoint: aws.String(a.JWKSEndpoint), Issuer: aws.String(a.Issuer)}
		for _, k := range a.Claims {
			c.AdditionalClaims = append(c.AdditionalClaims, elbtypes.JwtValidationActionAdditionalClaim{
				Format: elbtypes.JwtValidationActionAdditionalClaimFormatEnum(k.Format), Name: aws.String(k.Name), Values: slices.Clone(k.Values),
			})
		}
		return elbtypes.Action{Type: elbtypes.ActionTypeEnumJwtValidation, JwtValidationConfig: c}, nil
	}
	return elbtypes.Action{}, fmt.Errorf("action of type %T cannot be converted for AWS", a)
}

func oidcToAWS(a model.AuthOIDC) *elbtypes.AuthenticateOidcActionConfig {
	c := &elbtypes.AuthenticateOidcActionConfig{
		Issuer: aws.String(a.Issuer), AuthorizationEndpoint: aws.String(a.AuthorizationEndpoint),
		TokenEndpoint: aws.String(a.TokenEndpoint), UserInfoEndpoint: aws.String(a.UserInfoEndpoint),
		ClientId:                         aws.String(a.ClientID.Reveal()),
		AuthenticationRequestExtraParams: maps.Clone(a.ExtraParams),
		OnUnauthenticatedRequest:         elbtypes.AuthenticateOidcActionConditionalBehaviorEnum(a.OnUnauthenticated),
		Scope:                            NilIfEmpty(a.Scope), SessionCookieName: NilIfEmpty(a.SessionCookie),
		SessionTimeout: NilIfZero(a.SessionTimeout),
	}
	// An action that was read from AWS has no secret, because AWS never returns it. UseExistingClientSecret makes AWS keep
	// the secret that it has stored.
	if a.ClientSecret == "" {
		c.UseExistingClientSecret = aws.Bool(true)
	} else {
		c.ClientSecret = aws.String(a.ClientSecret.Reveal())
	}
	return c
}

// forwardToAWS converts a forward action. It always writes a forward config, and never the older top-level target group.
func forwardToAWS(a model.Forward, arnOf TargetGroupARNFunc) (elbtypes.Action, error) {
	c := &elbtypes.ForwardActionConfig{}
	for _, g := range a.Groups {
		arn, err := arnOf(g.Group)
		if err != nil {
			return elbtypes.Action{}, err
		}
		t := elbtypes.TargetGroupTuple{TargetGroupArn: aws.String(arn)}
		if g.Weight != nil {
			t.Weight = aws.Int32(*g.Weight)
		} else if len(a.Groups) > 1 {
			t.Weight = aws.Int32(1) // AWS requires a weight for each of several target groups
		}
		c.TargetGroups = append(c.TargetGroups, t)
	}
	if s := a.Stickiness; s != nil {
		c.TargetGroupStickinessConfig = &elbtypes.TargetGroupStickinessConfig{Enabled: s.Enabled, DurationSeconds: s.Duration}
	}
	return elbtypes.Action{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: c}, nil
}

func actionsFromAWS(actions []elbtypes.Action) []model.Action {
	sorted := slices.Clone(actions)
	slices.SortStableFunc(sorted, func(a, b elbtypes.Action) int {
		if a.Order == nil || b.Order == nil {
			return 0
		}
		return int(*a.Order) - int(*b.Order)
	})
	out := make([]model.Action, 0, len(sorted))
	for _, a := range sorted {
		out = append(out, actionFromAWS(a))
	}
	return out
}

func actionFromAWS(a elbtypes.Action) model.Action {
	switch {
	case a.Type == elbtypes.ActionTypeEnumForward:
		return forwardFromAWS(a)
	case a.Type == elbtypes.ActionTypeEnumRedirect && a.RedirectConfig != nil:
		c := a.RedirectConfig
		return model.Redirect{
			Host: withoutPlaceholder(c.Host, hostPlaceholder), Path: withoutPlaceholder(c.Path, pathPlaceholder), Port: withoutPlaceholder(c.Port, portPlaceholder),
			Protocol: withoutPlaceholder(c.Protocol, protocolPlaceholder), Query: withoutPlaceholder(c.Query, queryPlaceholder), Status: string(c.StatusCode),
			DropQuery: c.Query != nil && *c.Query == "",
		}
	case a.Type == elbtypes.ActionTypeEnumFixedResponse && a.FixedResponseConfig != nil:
		c := a.FixedResponseConfig
		return model.FixedResponse{Status: aws.ToString(c.StatusCode), ContentType: aws.ToString(c.ContentType), Body: aws.ToString(c.MessageBody)}
	case a.Type == elbtypes.ActionTypeEnumAuthenticateOidc && a.AuthenticateOidcConfig != nil:
		c := a.AuthenticateOidcConfig
		return model.AuthOIDC{
			AuthCommon: model.AuthCommon{
				OnUnauthenticated: string(c.OnUnauthenticatedRequest), Scope: aws.ToString(c.Scope),
				SessionCookie: aws.ToString(c.SessionCookieName), SessionTimeout: aws.ToInt64(c.SessionTimeout),
				ExtraParams: nonEmptyMap(c.AuthenticationRequestExtraParams),
			},
			Issuer: aws.ToString(c.Issuer), AuthorizationEndpoint: aws.ToString(c.AuthorizationEndpoint),
			TokenEndpoint: aws.ToString(c.TokenEndpoint), UserInfoEndpoint: aws.ToString(c.UserInfoEndpoint),
			ClientID: model.Secret(aws.ToString(c.ClientId)),
		}
	case a.Type == elbtypes.ActionTypeEnumAuthenticateCognito && a.AuthenticateCognitoConfig != nil:
		c := a.AuthenticateCognitoConfig
		return model.AuthCognito{
			AuthCommon: model.AuthCommon{
				OnUnauthenticated: string(c.OnUnauthenticatedRequest), Scope: aws.ToString(c.Scope),
				SessionCookie: aws.ToString(c.SessionCookieName), SessionTimeout: aws.ToInt64(c.SessionTimeout),
				ExtraParams: nonEmptyMap(c.AuthenticationRequestExtraParams),
			},
			UserPoolARN: aws.ToString(c.UserPoolArn), ClientID: aws.ToString(c.UserPoolClientId), Domain: aws.ToString(c.UserPoolDomain),
		}
	case a.Type == elbtypes.ActionTypeEnumJwtValidation && a.JwtValidationConfig != nil:
		c := a.JwtValidationConfig
		out := model.ValidateJWT{JWKSEndpoint: aws.ToString(c.JwksEndpoint), Issuer: aws.ToString(c.Issuer)}
		for _, k := range c.AdditionalClaims {
			out.Claims = append(out.Claims, model.JWTClaim{Format: string(k.Format), Name: aws.ToString(k.Name), Values: k.Values})
		}
		return out
	}
	// No desired action has an empty status code. This action therefore differs from every desired action, and the plan
	// corrects the rule.
	return model.FixedResponse{Body: "unknown action of type " + string(a.Type)}
}

// forwardFromAWS converts a forward action, with its target groups sorted by ARN. It reads the older top-level target group
// only if there is no forward config.
func forwardFromAWS(a elbtypes.Action) model.Forward {
	if a.ForwardConfig == nil {
		return model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: aws.ToString(a.TargetGroupArn)}}}}
	}
	var out model.Forward
	for _, t := range a.ForwardConfig.TargetGroups {
		out.Groups = append(out.Groups, model.WeightedTargetGroup{Group: model.TargetGroupRef{ARN: aws.ToString(t.TargetGroupArn)}, Weight: t.Weight})
	}
	slices.SortStableFunc(out.Groups, func(x, y model.WeightedTargetGroup) int { return strings.Compare(x.Group.ARN, y.Group.ARN) })
	if s := a.ForwardConfig.TargetGroupStickinessConfig; s != nil && (aws.ToBool(s.Enabled) || s.DurationSeconds != nil) {
		out.Stickiness = &model.TargetGroupStickiness{Enabled: s.Enabled, Duration: s.DurationSeconds}
	}
	return out
}

// nonEmptyMap returns a copy of a map, or nil if the map is empty, because AWS does not distinguish an empty map from nil.
func nonEmptyMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// NilIfEmpty returns a pointer to s, or nil if s is empty, so that the field is not sent.
func NilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// NilIfZero returns a pointer to n, or nil if n is zero, so that the field is not sent.
func NilIfZero[T int32 | int64](n T) *T {
	if n == 0 {
		return nil
	}
	return &n
}

// withoutPlaceholder returns the string, or "" if it is nil or equals the placeholder.
func withoutPlaceholder(s *string, placeholder string) string {
	if aws.ToString(s) == placeholder {
		return ""
	}
	return aws.ToString(s)
}
