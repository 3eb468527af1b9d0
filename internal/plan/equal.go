package plan

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

// The comparisons of this file say when a live value needs no write. They follow what AWS treats
// as the same, so that a cluster that is taken over is left alone.

// SameAttribute compares two attribute values as AWS does: booleans whatever their case, whole numbers by
// value, anything else as text.
func SameAttribute(a, b string) bool {
	if a == b || strings.EqualFold(a, b) && (strings.EqualFold(a, "true") || strings.EqualFold(a, "false")) {
		return true
	}
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	return errX == nil && errY == nil && x == y
}

// attributeDrift returns the wanted attributes that differ from the live ones.
func attributeDrift(want, have map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range want {
		if h, ok := have[k]; !ok || !SameAttribute(v, h) {
			out[k] = v
		}
	}
	return out
}

// sameSet reports whether two lists hold the same members, whatever their order and repetition.
func sameSet(a, b []string) bool {
	return slices.Equal(sortedUnique(a), sortedUnique(b))
}

func sortedUnique(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// healthCheckDrift reports whether a wanted health check differs from the live one. Fields that the
// desired state leaves open are not compared.
func healthCheckDrift(want, have model.HealthCheck) []Change {
	var out []Change
	text := func(path, w, h string) {
		if w != "" && w != h {
			out = append(out, Change{Path: path, From: h, To: w})
		}
	}
	number := func(path string, w, h int32) {
		if w != 0 && w != h {
			out = append(out, Change{Path: path, From: strconv.Itoa(int(h)), To: strconv.Itoa(int(w))})
		}
	}
	text("healthCheck.port", want.Port, have.Port)
	text("healthCheck.protocol", want.Protocol, have.Protocol)
	text("healthCheck.path", want.Path, have.Path)
	if want.HTTPCodes != "" || want.GRPCCodes != "" {
		if want.HTTPCodes != have.HTTPCodes || want.GRPCCodes != have.GRPCCodes {
			out = append(out, Change{Path: "healthCheck.matcher", From: have.HTTPCodes + have.GRPCCodes, To: want.HTTPCodes + want.GRPCCodes})
		}
	}
	number("healthCheck.interval", want.IntervalSeconds, have.IntervalSeconds)
	number("healthCheck.timeout", want.TimeoutSeconds, have.TimeoutSeconds)
	number("healthCheck.healthyThreshold", want.HealthyThreshold, have.HealthyThreshold)
	number("healthCheck.unhealthyThreshold", want.UnhealthyThreshold, have.UnhealthyThreshold)
	return out
}

// resolver turns a reference to a target group into the ARN of a live group, "" if there is none
// yet.
type resolver func(model.GroupRef) string

// sameActions reports whether the wanted actions are what the live ones are.
func sameActions(want, have []model.Action, arn resolver) bool {
	return slices.EqualFunc(want, have, func(w, h model.Action) bool { return sameAction(w, h, arn) })
}

func sameAction(want, have model.Action, arn resolver) bool {
	switch w := want.(type) {
	case model.Forward:
		h, ok := have.(model.Forward)
		return ok && sameForward(w, h, arn)
	case model.Redirect:
		h, ok := have.(model.Redirect)
		return ok && normalRedirect(w) == normalRedirect(h)
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
			sameSet(claimKeys(w.Claims), claimKeys(h.Claims))
	}
	return false
}

// claimKeys are texts that differ where claims do. The order of values means nothing: a token needs one of them.
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

// normalRedirect fills in what AWS puts in place of unset fields.
func normalRedirect(r model.Redirect) model.Redirect {
	r.Host = cmp.Or(r.Host, "#{host}")
	r.Path = cmp.Or(r.Path, "/#{path}")
	r.Port = cmp.Or(r.Port, "#{port}")
	r.Protocol = cmp.Or(r.Protocol, "#{protocol}")
	if !r.DropQuery {
		r.Query = cmp.Or(r.Query, "#{query}")
	}
	return r
}

// weight is a target group's weight as AWS reads it: 1 where none is given.
func weight(w *int32) int32 {
	if w == nil {
		return 1
	}
	return *w
}

// sameForward compares where requests go in which parts. A target group that is named several times
// gets its weights together, and a single one gets everything, whatever its weight.
func sameForward(want, have model.Forward, arn resolver) bool {
	w, known := shares(want, arn)
	h, _ := shares(have, func(g model.GroupRef) string { return g.ARN })
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

// shares are the weights by ARN; known is false if a group has no ARN yet.
func shares(f model.Forward, arn resolver) (out map[string]int32, known bool) {
	out, known = map[string]int32{}, true
	for _, g := range f.Groups {
		a := arn(g.Group)
		known = known && a != ""
		out[a] += weight(g.Weight)
	}
	return out, known
}

func sameStickiness(a, b *model.GroupStickiness) bool {
	on := func(s *model.GroupStickiness) bool { return s != nil && s.Enabled != nil && *s.Enabled }
	if on(a) != on(b) {
		return false
	}
	if !on(a) {
		return true
	}
	d := func(s *model.GroupStickiness) int32 {
		if s.Duration == nil {
			return 0
		}
		return *s.Duration
	}
	return d(a) == d(b)
}

// sameConditions compares condition lists: the order of conditions and of values means nothing to
// an ALB.
func sameConditions(a, b []model.Condition) bool { return conditionsKey(a) == conditionsKey(b) }

// conditionsKey is the same text for condition lists that mean the same, and for no others.
func conditionsKey(cs []model.Condition) string {
	if len(cs) == 1 {
		return string(appendCondition(nil, cs[0]))
	}
	keys := make([]string, 0, len(cs))
	for _, c := range cs {
		keys = append(keys, string(appendCondition(nil, c)))
	}
	slices.Sort(keys)
	return strings.Join(keys, "")
}

func appendCondition(to []byte, c model.Condition) []byte {
	switch c := c.(type) {
	case model.HostHeader:
		return appendSet(appendSet(append(to, 'h'), c.Values, true), c.Regex, false)
	case model.PathPattern:
		return appendSet(appendSet(append(to, 'p'), c.Values, false), c.Regex, false)
	case model.HTTPHeader:
		return appendSet(appendSet(appendText(append(to, 'n'), strings.ToLower(c.Name)), c.Values, false), c.Regex, false)
	case model.RequestMethod:
		return appendSet(append(to, 'm'), c.Values, false)
	case model.QueryString:
		var pairs []string
		for _, p := range c.Pairs {
			pairs = append(pairs, string(appendText(appendText(nil, p.Key), p.Value)))
		}
		return appendSet(append(to, 'q'), pairs, false)
	case model.SourceIP:
		return appendSet(append(to, 's'), c.CIDRs, true)
	}
	return append(to, '?')
}

// appendSet writes how many different texts there are, and these in order.
func appendSet(to []byte, texts []string, fold bool) []byte {
	if fold && slices.ContainsFunc(texts, func(s string) bool { return strings.ToLower(s) != s }) {
		texts = slices.Clone(texts)
		for i := range texts {
			texts[i] = strings.ToLower(texts[i])
		}
	}
	if len(texts) > 1 {
		texts = sortedUnique(texts)
	}
	to = append(strconv.AppendInt(to, int64(len(texts)), 10), ' ')
	for _, s := range texts {
		to = appendText(to, s)
	}
	return to
}

// appendText writes a text so that its end is unambiguous.
func appendText(to []byte, s string) []byte {
	return append(append(strconv.AppendInt(to, int64(len(s)), 10), ':'), s...)
}

func sameTransforms(a, b []model.Transform) bool {
	byKind := func(ts []model.Transform) []model.Transform {
		ts = slices.Clone(ts)
		slices.SortStableFunc(ts, func(x, y model.Transform) int { return cmp.Compare(x.Kind, y.Kind) })
		return ts
	}
	return slices.EqualFunc(byKind(a), byKind(b), func(x, y model.Transform) bool {
		return x.Kind == y.Kind && slices.Equal(x.Rewrites, y.Rewrites)
	})
}

// placeKey is the same for conditions with the same hosts and paths, whatever else they ask for: the
// match that keeps a held rule's live action.
func placeKey(cs []model.Condition) string {
	r := model.Rule{Conditions: cs}
	paths := r.Paths()
	if len(paths) == 0 {
		paths = []string{"/*"}
	}
	return string(appendSet(appendSet(nil, r.Hosts(), true), paths, false))
}

func placeOfLive(r *observed.Rule) string { return placeKey(r.Conditions) }

// sameSelector compares node selectors; none and an empty one differ, as they select differently.
func sameSelector(a, b *metav1.LabelSelector) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	return a == nil || metav1.FormatLabelSelector(a) == metav1.FormatLabelSelector(b)
}

// SameMutualAuth reports whether a live setting is what is asked for. A desired state that says nothing accepts what is there.
func SameMutualAuth(want, have *model.MutualAuth) bool {
	mode := func(m *model.MutualAuth) string {
		if m == nil || m.Mode == "" {
			return off
		}
		return m.Mode
	}
	if want == nil {
		return true
	}
	if mode(want) != mode(have) {
		return false
	}
	if mode(want) != "verify" {
		return true
	}
	flag := func(b *bool) bool { return b != nil && *b }
	return want.TrustStore == have.TrustStore && flag(want.IgnoreExpiry) == flag(have.IgnoreExpiry) &&
		cmp.Or(want.AdvertiseCA, "off") == cmp.Or(have.AdvertiseCA, "off")
}
