package equal

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// The comparisons in this file decide whether an observed value must be changed. They treat values as equal if AWS treats
// them as equal. Therefore the values of load balancers that are taken over from another controller are not changed without
// need.

// SameAttribute reports whether AWS treats two attribute values as equal. It compares booleans regardless of case, whole
// numbers by value, and everything else as text.
func SameAttribute(a, b string) bool {
	if a == b || strings.EqualFold(a, b) && (strings.EqualFold(a, "true") || strings.EqualFold(a, "false")) {
		return true
	}
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	return errX == nil && errY == nil && x == y
}

// SameSet reports whether two lists have the same elements, regardless of order and duplicates.
func SameSet(a, b []string) bool {
	return slices.Equal(SortedUnique(a), SortedUnique(b))
}

// SortedUnique returns a sorted copy of a list without duplicates.
func SortedUnique(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// ARNResolver returns the ARN of the target group to which a reference refers; empty if the target group does not exist yet.
type ARNResolver func(model.TargetGroupRef) string

// SameActions reports whether the observed actions equal the desired actions.
func SameActions(want, have []model.Action, arn ARNResolver) bool {
	return slices.EqualFunc(want, have, func(w, h model.Action) bool { return sameAction(w, h, arn) })
}

func sameAction(want, have model.Action, arn ARNResolver) bool {
	switch w := want.(type) {
	case model.Forward:
		h, ok := have.(model.Forward)
		return ok && sameForward(w, h, arn)
	case model.Redirect:
		h, ok := have.(model.Redirect)
		return ok && RedirectWithDefaults(w) == RedirectWithDefaults(h)
	case model.FixedResponse:
		h, ok := have.(model.FixedResponse)
		return ok && w == h
	case model.AuthOIDC:
		h, ok := have.(model.AuthOIDC)
		// AWS never returns the client secret, so it is not compared.
		return ok && sameAuth(w.AuthCommon, h.AuthCommon) && w.Issuer == h.Issuer &&
			w.AuthorizationEndpoint == h.AuthorizationEndpoint && w.TokenEndpoint == h.TokenEndpoint &&
			w.UserInfoEndpoint == h.UserInfoEndpoint && w.ClientID == h.ClientID
	case model.AuthCognito:
		h, ok := have.(model.AuthCognito)
		return ok && sameAuth(w.AuthCommon, h.AuthCommon) && w.UserPoolARN == h.UserPoolARN &&
			w.ClientID == h.ClientID && w.Domain == h.Domain
	case model.ValidateJWT:
		h, ok := have.(model.ValidateJWT)
		return ok && w.JWKSEndpoint == h.JWKSEndpoint && w.Issuer == h.Issuer &&
			SameSet(claimKeys(w.Claims), claimKeys(h.Claims))
	}
	return false
}

// claimKeys returns a key for each JWT claim. Different claims have different keys. The order of the values of a claim does
// not matter, because a token needs only one of them.
func claimKeys(claims []model.JWTClaim) []string {
	var out []string
	for _, c := range claims {
		out = append(out, string(appendSet(appendText(appendText(nil, c.Format), c.Name), c.Values, false)))
	}
	return out
}

func sameAuth(a, b model.AuthCommon) bool {
	return a.OnUnauthenticated == b.OnUnauthenticated && a.Scope == b.Scope && a.SessionCookie == b.SessionCookie &&
		a.SessionTimeout == b.SessionTimeout && maps.Equal(a.ExtraParams, b.ExtraParams)
}

// RedirectWithDefaults returns a copy of a redirect in which fields that are not set have the values that AWS uses.
func RedirectWithDefaults(r model.Redirect) model.Redirect {
	r.Host = cmp.Or(r.Host, "#{host}")
	r.Path = cmp.Or(r.Path, "/#{path}")
	r.Port = cmp.Or(r.Port, "#{port}")
	r.Protocol = cmp.Or(r.Protocol, "#{protocol}")
	if !r.DropQuery {
		r.Query = cmp.Or(r.Query, "#{query}")
	}
	return r
}

// WeightOrDefault returns the weight of a target group; 1, which AWS uses, if none is set.
func WeightOrDefault(w *int32) int32 {
	if w == nil {
		return 1
	}
	return *w
}

// EffectiveWeight returns the weight of the target group with an index in a forward action. It is at least 1 for the only
// target group, to which AWS sends all requests regardless of its weight.
func EffectiveWeight(groups []model.WeightedTargetGroup, i int) int32 {
	n := WeightOrDefault(groups[i].Weight)
	if len(groups) == 1 {
		n = max(n, 1)
	}
	return n
}

// sameForward reports whether a desired and an observed forward action send the same share of requests to each target group,
// with the same stickiness. If an action has a target group several times, its weights are added. A single target group gets
// all requests, regardless of its weight.
func sameForward(want, have model.Forward, arn ARNResolver) bool {
	w, known := WeightsByARN(want, arn)
	h, _ := WeightsByARN(have, func(g model.TargetGroupRef) string { return g.ARN })
	if !known || len(w) != len(h) {
		return false
	}
	for a, n := range w {
		if m, ok := h[a]; !ok || len(w) > 1 && m != n {
			return false
		}
	}
	return want.Stickiness == nil || sameStickiness(want.Stickiness, have.Stickiness)
}

// WeightsByARN returns the weights of the target groups of a forward action, by ARN. known is false if a target group has no
// ARN yet.
func WeightsByARN(f model.Forward, arn ARNResolver) (out map[string]int32, known bool) {
	out, known = map[string]int32{}, true
	for _, g := range f.Groups {
		a := arn(g.Group)
		known = known && a != ""
		out[a] += WeightOrDefault(g.Weight)
	}
	return out, known
}

func sameStickiness(a, b *model.TargetGroupStickiness) bool {
	on := func(s *model.TargetGroupStickiness) bool { return s != nil && s.Enabled != nil && *s.Enabled }
	if on(a) != on(b) {
		return false
	}
	if !on(a) {
		return true
	}
	d := func(s *model.TargetGroupStickiness) int32 {
		if s.Duration == nil {
			return 0
		}
		return *s.Duration
	}
	return d(a) == d(b)
}

// SameConditions reports whether an ALB matches the same requests with both lists of conditions. The order of the conditions
// and of their values does not matter.
func SameConditions(a, b []model.Condition) bool { return ConditionsKey(a) == ConditionsKey(b) }

// ConditionsKey returns a key for a list of conditions. Two lists have the same key if and only if SameConditions reports
// true for them.
func ConditionsKey(cs []model.Condition) string {
	if len(cs) == 1 {
		return string(conditionKey(cs[0]))
	}
	keys := make([]string, 0, len(cs))
	for _, c := range cs {
		keys = append(keys, string(conditionKey(c)))
	}
	slices.Sort(keys)
	return strings.Join(keys, "")
}

// conditionKey returns a key for a condition. Different conditions have different keys.
func conditionKey(c model.Condition) []byte {
	switch c := c.(type) {
	case model.HostHeader:
		return appendSet(appendSet([]byte{'h'}, c.Values, true), c.Regex, false)
	case model.PathPattern:
		return appendSet(appendSet([]byte{'p'}, c.Values, false), c.Regex, false)
	case model.HTTPHeader:
		return appendSet(appendSet(appendText([]byte{'n'}, strings.ToLower(c.Name)), c.Values, false), c.Regex, false)
	case model.RequestMethod:
		return appendSet([]byte{'m'}, c.Values, false)
	case model.QueryString:
		var pairs []string
		for _, p := range c.Pairs {
			pairs = append(pairs, string(appendText(appendText(nil, p.Key), p.Value)))
		}
		return appendSet([]byte{'q'}, pairs, false)
	case model.SourceIP:
		return appendSet([]byte{'s'}, c.CIDRs, true)
	}
	return []byte{'?'}
}

// appendSet appends the number of distinct texts, and then these texts in sorted order. If fold is set, it converts them to
// lower case.
func appendSet(to []byte, texts []string, fold bool) []byte {
	if fold && slices.ContainsFunc(texts, func(s string) bool { return strings.ToLower(s) != s }) {
		texts = slices.Clone(texts)
		for i := range texts {
			texts[i] = strings.ToLower(texts[i])
		}
	}
	if len(texts) > 1 {
		texts = SortedUnique(texts)
	}
	to = append(strconv.AppendInt(to, int64(len(texts)), 10), ' ')
	for _, s := range texts {
		to = appendText(to, s)
	}
	return to
}

// appendText appends a text with its length, so that two different lists of texts never have the same result.
func appendText(to []byte, s string) []byte {
	return append(append(strconv.AppendInt(to, int64(len(s)), 10), ':'), s...)
}

// SameTransforms reports whether two lists have the same transforms. The order of transforms of different kinds does not
// matter.
func SameTransforms(a, b []model.Transform) bool {
	byKind := func(ts []model.Transform) []model.Transform {
		ts = slices.Clone(ts)
		slices.SortStableFunc(ts, func(x, y model.Transform) int { return cmp.Compare(x.Kind, y.Kind) })
		return ts
	}
	return slices.EqualFunc(byKind(a), byKind(b), func(x, y model.Transform) bool {
		return x.Kind == y.Kind && slices.Equal(x.Rewrites, y.Rewrites)
	})
}

// HostsAndPathsKey returns a key that is equal for conditions with the same hosts and paths, regardless of their other
// conditions. A held rule keeps the actions of an observed rule with the same key.
func HostsAndPathsKey(cs []model.Condition) string {
	r := model.Rule{Conditions: cs}
	paths := r.Paths()
	if len(paths) == 0 {
		paths = []string{"/*"}
	}
	return string(appendSet(appendSet(nil, r.Hosts(), true), paths, false))
}

// SameSelector reports whether two node selectors select the same nodes. A nil and an empty selector are different.
func SameSelector(a, b *metav1.LabelSelector) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	return a == nil || metav1.FormatLabelSelector(a) == metav1.FormatLabelSelector(b)
}

// SameMutualAuth reports whether the observed mutual TLS setting equals the desired setting. If no setting is desired, it
// reports true for any observed setting.
func SameMutualAuth(want, have *model.MutualAuth) bool {
	mode := func(m *model.MutualAuth) string {
		if m == nil || m.Mode == "" {
			return SettingOff
		}
		return m.Mode
	}
	if want == nil {
		return true
	}
	if mode(want) != mode(have) {
		return false
	}
	if mode(want) != MutualAuthVerify {
		return true
	}
	flag := func(b *bool) bool { return b != nil && *b }
	return want.TrustStore == have.TrustStore && flag(want.IgnoreExpiry) == flag(have.IgnoreExpiry) &&
		cmp.Or(want.AdvertiseCA, SettingOff) == cmp.Or(have.AdvertiseCA, SettingOff)
}

// NoALPN is the value in AWS for a listener without ALPN policy, which is the default.
const NoALPN = "None"

// MutualAuthVerify is the mutual TLS mode in which AWS verifies client certificates. SettingOff is the mode without mutual
// TLS, and also a value of the settings for source NAT and for PrivateLink rules.
const (
	MutualAuthVerify = "verify"
	SettingOff       = "off"
)

// EachForwardedARN calls f with the ARN of each target group to which a rule or default action of the listeners forwards. It
// may call f several times with the same ARN.
func EachForwardedARN(ls []observed.Listener, f func(arn string)) {
	note := func(as []model.Action) {
		for _, g := range model.ForwardedTargetGroups(as) {
			if g.Group.ARN != "" {
				f(g.Group.ARN)
			}
		}
	}
	for _, l := range ls {
		note(l.Default)
		for _, r := range l.Rules {
			note(r.Actions)
		}
	}
}

// ForwardOf returns the forward action in a list of actions; nil if there is none. AWS requires it to be the last action.
func ForwardOf(as []model.Action) *model.Forward {
	if len(as) == 0 {
		return nil
	}
	f, ok := as[len(as)-1].(model.Forward)
	if !ok {
		return nil
	}
	return &f
}

// TargetGroupRefText returns the id, name or ARN of a reference to a target group, whichever is set.
func TargetGroupRefText(r model.TargetGroupRef) string { return r.ID + r.Name + r.ARN }
