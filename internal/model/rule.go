package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Rule is the desired state of a listener rule. Its position among the rules of the listener determines its priority.
type Rule struct {
	Conditions []Condition
	Transforms []Transform
	Actions    []Action // an optional authentication, then a forward, redirect or fixed response
	Tags       map[string]string
	Origin     finding.Origin
	Member     finding.Ref
	// Held are the reasons why the existing rule with the same hosts and paths stays unchanged; 0 if it is not held.
	Held Held
	// PlaceholderConditions are the conditions of the fixed response with status 503 that is created in place of a held
	// rule. They are set if Conditions exceed the limits of AWS.
	PlaceholderConditions []Condition
	// InPlace is set if the existing rule is changed in one call, because a quota does not permit the additional resources
	// of a change in several steps.
	InPlace bool
	// OverQuota is set while a quota is reached, so that no rule can be added. The rule then replaces an existing rule of its
	// namespace that is not desired any more. If there is none, the rule is left out.
	OverQuota bool
}

// RuleKey identifies a rule of a stack by the port of its listener and its origin. Unlike the priority, it does not change
// when other rules change. Unlike the conditions, it differs for rules of two members with the same conditions.
type RuleKey struct {
	Port int32
	Of   finding.Origin
}

// Key returns the key of the rule on the listener of the given port.
func (r *Rule) Key(port int32) RuleKey {
	of := r.Origin
	if of.Object.IsZero() {
		of.Object = r.Member
	}
	return RuleKey{Port: port, Of: of}
}

// IsZero reports whether k is the zero RuleKey, which identifies no rule.
func (k RuleKey) IsZero() bool { return k == RuleKey{} }

// Text returns the port, hosts and paths of the rule for messages. port is the port of its listener.
func (r Rule) Text(port int32) string {
	out := fmt.Sprintf("rule on port %d", port)
	if h := r.Hosts(); len(h) > 0 {
		out += fmt.Sprintf(", host %q", strings.Join(h, ", "))
	}
	if p := r.Paths(); len(p) > 0 {
		out += fmt.Sprintf(", path %q", strings.Join(p, ", "))
	}
	return out
}

// Hosts returns the hosts in the conditions of the rule: plain values, and regular expressions. For a regular expression
// that HostPattern returns, it returns the hostname.
func (r Rule) Hosts() []string {
	var out []string
	for _, c := range r.Conditions {
		if h, ok := c.(HostHeader); ok {
			out = append(out, h.Values...)
			for _, expr := range h.Regex {
				host, _ := PlainHost(expr)
				out = append(out, cmp.Or(host, expr))
			}
		}
	}
	return out
}

// Paths returns the paths in the conditions of the rule: plain values and regular expressions.
func (r Rule) Paths() []string {
	var out []string
	for _, c := range r.Conditions {
		if p, ok := c.(PathPattern); ok {
			out = append(append(out, p.Values...), p.Regex...)
		}
	}
	return out
}

// Condition is a condition of a rule: HostHeader, PathPattern, HTTPHeader, RequestMethod, QueryString or SourceIP. A rule
// matches a request if all its conditions match. A condition matches if one of its values matches.
type Condition interface{ condition() }

// HostHeader matches the Host header and ignores case. Values may have the wildcards * and ?.
type HostHeader struct{ Values, Regex []string }

// anyPort is the end of a regular expression for a Host header. It matches with or without a port.
const anyPort = "(:[0-9]+)?$"

// HostPattern returns a regular expression that matches a Host header with the given hostname, with or without a port. The
// hostname may begin with a wildcard label. A plain value would not match a Host header with a port.
func HostPattern(host string) string {
	if rest, wild := strings.CutPrefix(host, "*"); wild {
		return "^.+" + regexp.QuoteMeta(rest) + anyPort
	}
	return "^" + regexp.QuoteMeta(host) + anyPort
}

// PlainHost returns the hostname for which HostPattern returns expr; false if there is none.
func PlainHost(expr string) (host string, ok bool) {
	host, ok = strings.CutSuffix(strings.TrimPrefix(expr, "^"), anyPort)
	if rest, wild := strings.CutPrefix(host, ".+"); wild {
		host = "*" + rest
	}
	host = strings.ReplaceAll(host, `\`, "")
	if !ok || HostPattern(host) != expr {
		return "", false
	}
	return host, true
}

// PathPattern matches the path and is case-sensitive. Values may have the wildcards * and ?.
type PathPattern struct{ Values, Regex []string }

// HTTPHeader matches the values of the header with a name.
type HTTPHeader struct {
	Name          string
	Values, Regex []string
}

// RequestMethod matches the HTTP method and is case-sensitive.
type RequestMethod struct{ Values []string }

// QueryString matches query parameters. A pair with an empty Key matches the value of any parameter.
type QueryString struct{ Pairs []QueryPair }

// QueryPair is a key and a value of a QueryString condition.
type QueryPair struct{ Key, Value string }

// SourceIP matches the address of the client against CIDR ranges.
type SourceIP struct{ CIDRs []string }

func (HostHeader) condition()    {}
func (PathPattern) condition()   {}
func (HTTPHeader) condition()    {}
func (RequestMethod) condition() {}
func (QueryString) condition()   {}
func (SourceIP) condition()      {}

// Transform rewrites the host or the path of a request before it is forwarded.
type Transform struct {
	Kind     TransformKind
	Rewrites []Rewrite
}

// TransformKind is the type of a transform as the AWS API names it.
type TransformKind string

// The values of TransformKind.
const (
	HostRewrite TransformKind = "host-header-rewrite"
	URLRewrite  TransformKind = "url-rewrite"
)

// Rewrite replaces the text that matches the regular expression Regex.
type Rewrite struct{ Regex, Replace string }

// Action is an action of a rule. The last action of a rule is a Forward, Redirect or FixedResponse; an AuthOIDC, AuthCognito
// or ValidateJWT can precede it, on HTTPS listeners only.
type Action interface{ action() }

// Forward sends each request to one of several target groups, with a probability according to the weights.
type Forward struct {
	Groups     []WeightedTargetGroup
	Stickiness *TargetGroupStickiness
}

// ForwardedTargetGroups returns the target groups to which actions forward, with their weights; nil if no action forwards. AWS
// accepts at most one forward, as the last action.
func ForwardedTargetGroups(actions []Action) []WeightedTargetGroup {
	for _, a := range actions {
		if f, ok := a.(Forward); ok {
			return f.Groups
		}
	}
	return nil
}

// AreWeightsZero reports whether all target groups of a forward have weight 0.
func (f Forward) AreWeightsZero() bool {
	return !slices.ContainsFunc(f.Groups, func(g WeightedTargetGroup) bool { return g.Weight == nil || *g.Weight > 0 })
}

// WithReplacedTargetGroups returns a copy of the actions in which each reference ref to a target group is replaced by
// replace(ref).
func WithReplacedTargetGroups(actions []Action, replace func(TargetGroupRef) TargetGroupRef) []Action {
	out := slices.Clone(actions)
	for i, a := range out {
		if f, ok := a.(Forward); ok {
			f.Groups = slices.Clone(f.Groups)
			for j := range f.Groups {
				f.Groups[j].Group = replace(f.Groups[j].Group)
			}
			out[i] = f
		}
	}
	return out
}

// WeightedTargetGroup is a target group of a forward action.
type WeightedTargetGroup struct {
	Group TargetGroupRef
	// Weight is nil if no weight is set.
	Weight *int32
}

// TargetGroupRef is a reference to a target group. Exactly one field is set.
type TargetGroupRef struct {
	ID   string // id in the model of a target group of this stack
	ARN  string // a target group of another owner, by ARN
	Name string // a target group of another owner, by name; the plan resolves it to an ARN
}

// TargetGroupStickiness is the target group stickiness of a forward: later requests of a client go to the same target group as its
// first request.
type TargetGroupStickiness struct {
	Enabled  *bool
	Duration *int32 // seconds
}

// Redirect answers with status 301 or 302. Empty fields keep the value of the request. DropQuery removes the query.
type Redirect struct {
	Host, Path, Port, Protocol, Query string
	DropQuery                         bool
	Status                            string // HTTP_301 or HTTP_302
}

// FixedResponse answers with a fixed status and body.
type FixedResponse struct {
	Status      string
	ContentType string
	Body        string
}

// AuthCommon has the settings that AuthOIDC and AuthCognito share.
type AuthCommon struct {
	OnUnauthenticated string
	Scope             string
	SessionCookie     string
	SessionTimeout    int64 // seconds
	ExtraParams       map[string]string
}

// AuthOIDC authenticates against an OpenID Connect provider.
type AuthOIDC struct {
	AuthCommon
	Issuer, AuthorizationEndpoint, TokenEndpoint, UserInfoEndpoint string
	ClientID                                                       Secret
	ClientSecret                                                   Secret
}

// AuthCognito authenticates against an Amazon Cognito user pool.
type AuthCognito struct {
	AuthCommon
	UserPoolARN, ClientID, Domain string
}

// ValidateJWT checks the JSON Web Token (bearer token) of a request.
type ValidateJWT struct {
	JWKSEndpoint, Issuer string
	Claims               []JWTClaim
}

// JWTClaim is a claim, besides the issuer, that the token must have.
type JWTClaim struct {
	Format, Name string
	Values       []string
}

func (Forward) action()       {}
func (Redirect) action()      {}
func (FixedResponse) action() {}
func (AuthOIDC) action()      {}
func (AuthCognito) action()   {}
func (ValidateJWT) action()   {}

// Secret is a text that must not appear in any output.
type Secret string

// String returns a placeholder instead of the secret.
func (Secret) String() string { return "[redacted]" }

// Format writes a placeholder instead of the secret, for every format verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// MarshalText returns a placeholder instead of the secret, so that no encoder writes it.
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// HashFor returns a hash of the secret by which a change of the secret is detected; "" for an empty secret. use is the place
// where the secret is used, such as the ARN of a rule. The same secret has different hashes for different uses.
func (s Secret) HashFor(use string) string {
	if s == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(use + "\x00" + string(s)))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Reveal returns the secret in plain text. It may only be used for parameters of AWS calls, and to redact the secret from
// texts.
func (s Secret) Reveal() string { return string(s) }
