package serve

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// ConvertRule converts a rule of the emulator state to a rule of the data plane. The rule has all default values and client
// secrets. A rule without a final action is an error.
func ConvertRule(r *store.Rule) (dataplane.Rule, error) {
	out := dataplane.Rule{ARN: r.ARN, Priority: int(r.Priority)}
	for _, c := range r.Conditions {
		condition, err := convertCondition(c)
		if err != nil {
			return out, err
		}
		out.Conditions = append(out.Conditions, condition)
	}
	for _, a := range r.Actions {
		if err := convertAction(a, &out); err != nil {
			return out, err
		}
	}
	if out.Action == nil {
		return out, fmt.Errorf("the rule has no forward, redirect or fixed-response action")
	}
	for _, t := range r.Transforms {
		switch {
		case t.HostHeaderRewriteConfig != nil:
			w := t.HostHeaderRewriteConfig.Rewrites[0]
			out.Transforms = append(out.Transforms, dataplane.HostRewrite{Regex: stringValue(w.Regex), Replace: stringValue(w.Replace)})
		case t.UrlRewriteConfig != nil:
			w := t.UrlRewriteConfig.Rewrites[0]
			out.Transforms = append(out.Transforms, dataplane.URLRewrite{Regex: stringValue(w.Regex), Replace: stringValue(w.Replace)})
		}
	}
	return out, nil
}

func stringValue(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func convertCondition(c elbtypes.RuleCondition) (dataplane.Condition, error) {
	switch {
	case c.HostHeaderConfig != nil:
		return dataplane.HostHeader{Values: c.HostHeaderConfig.Values, Regexes: c.HostHeaderConfig.RegexValues}, nil
	case c.PathPatternConfig != nil:
		return dataplane.PathPattern{Values: c.PathPatternConfig.Values, Regexes: c.PathPatternConfig.RegexValues}, nil
	case c.HttpHeaderConfig != nil:
		h := c.HttpHeaderConfig
		return dataplane.HTTPHeader{Name: stringValue(h.HttpHeaderName), Values: h.Values, Regexes: h.RegexValues}, nil
	case c.HttpRequestMethodConfig != nil:
		return dataplane.Method{Values: c.HttpRequestMethodConfig.Values}, nil
	case c.QueryStringConfig != nil:
		var out dataplane.QueryString
		for _, kv := range c.QueryStringConfig.Values {
			out.Values = append(out.Values, dataplane.QueryPair{Key: stringValue(kv.Key), Value: stringValue(kv.Value)})
		}
		return out, nil
	case c.SourceIpConfig != nil:
		var out dataplane.SourceIP
		for _, v := range c.SourceIpConfig.Values {
			block, err := netip.ParsePrefix(v)
			if err != nil {
				return nil, err
			}
			out.Values = append(out.Values, block.Masked())
		}
		return out, nil
	}
	return nil, fmt.Errorf("condition %q has no configuration", stringValue(c.Field))
}

// convertAction adds an action to the rule out.
func convertAction(a elbtypes.Action, out *dataplane.Rule) error {
	switch a.Type {
	case elbtypes.ActionTypeEnumForward:
		out.Action = convertForward(a.ForwardConfig)
	case elbtypes.ActionTypeEnumRedirect:
		r := a.RedirectConfig
		status, err := strconv.Atoi(strings.TrimPrefix(string(r.StatusCode), "HTTP_"))
		if err != nil {
			return err
		}
		out.Action = dataplane.Redirect{
			Protocol: stringValue(r.Protocol), Host: stringValue(r.Host), Port: stringValue(r.Port), Path: stringValue(r.Path), Query: stringValue(r.Query), Status: status,
		}
	case elbtypes.ActionTypeEnumFixedResponse:
		f := a.FixedResponseConfig
		status, err := strconv.Atoi(stringValue(f.StatusCode))
		if err != nil {
			return err
		}
		out.Action = dataplane.FixedResponse{Status: status, ContentType: stringValue(f.ContentType), Body: stringValue(f.MessageBody)}
	case elbtypes.ActionTypeEnumAuthenticateOidc:
		o := a.AuthenticateOidcConfig
		out.Authenticators = append(out.Authenticators, dataplane.OIDC{
			Issuer: stringValue(o.Issuer), AuthorizationEndpoint: stringValue(o.AuthorizationEndpoint), TokenEndpoint: stringValue(o.TokenEndpoint),
			UserInfoEndpoint: stringValue(o.UserInfoEndpoint), ClientID: stringValue(o.ClientId), ClientSecret: stringValue(o.ClientSecret),
			Scope: stringValue(o.Scope), SessionCookie: stringValue(o.SessionCookieName), SessionTimeout: seconds(o.SessionTimeout),
			ExtraParams: o.AuthenticationRequestExtraParams, OnUnauthenticated: dataplane.OnUnauthenticated(o.OnUnauthenticatedRequest),
		})
	case elbtypes.ActionTypeEnumAuthenticateCognito:
		// The client secret is in the user pool, which is not emulated.
		o := a.AuthenticateCognitoConfig
		out.Authenticators = append(out.Authenticators, dataplane.Cognito{
			UserPoolARN: stringValue(o.UserPoolArn), Domain: stringValue(o.UserPoolDomain), ClientID: stringValue(o.UserPoolClientId),
			Scope: stringValue(o.Scope), SessionCookie: stringValue(o.SessionCookieName), SessionTimeout: seconds(o.SessionTimeout),
			ExtraParams: o.AuthenticationRequestExtraParams, OnUnauthenticated: dataplane.OnUnauthenticated(o.OnUnauthenticatedRequest),
		})
	case elbtypes.ActionTypeEnumJwtValidation:
		j := a.JwtValidationConfig
		v := dataplane.JWTValidation{Issuer: stringValue(j.Issuer), JWKSEndpoint: stringValue(j.JwksEndpoint)}
		for _, c := range j.AdditionalClaims {
			v.Claims = append(v.Claims, dataplane.Claim{Name: stringValue(c.Name), Format: string(c.Format), Values: c.Values})
		}
		out.Authenticators = append(out.Authenticators, v)
	default:
		return fmt.Errorf("unknown action %q", a.Type)
	}
	return nil
}

func convertForward(f *elbtypes.ForwardActionConfig) dataplane.Forward {
	var out dataplane.Forward
	for _, t := range f.TargetGroups {
		weight := 1
		if t.Weight != nil {
			weight = int(*t.Weight)
		}
		out.TargetGroups = append(out.TargetGroups, dataplane.WeightedTargetGroup{ARN: stringValue(t.TargetGroupArn), Weight: weight})
	}
	if s := f.TargetGroupStickinessConfig; s != nil && s.Enabled != nil && *s.Enabled && s.DurationSeconds != nil {
		out.StickinessDuration = time.Duration(*s.DurationSeconds) * time.Second
	}
	return out
}

func seconds(n *int64) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Second
}
