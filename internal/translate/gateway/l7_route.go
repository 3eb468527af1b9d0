package gateway

import (
	"fmt"
	"math"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// pathMatch is how a match compares the path of a request.
type pathMatch int

// The values of pathMatch, in ascending precedence.
const (
	anyPath pathMatch = iota
	regexPath
	prefixPath
	exactPath
)

// match is one match of a rule of an HTTPRoute or a GRPCRoute.
type match struct {
	// index is the index in the matches of the rule, or math.MaxInt for the default match of a rule without matches.
	index int
	path  pathMatch
	// value is the path of an HTTPRoute; service and procedure are the gRPC service and method of a GRPCRoute.
	value              string
	service, procedure string
	method             string
	headers, queries   []fieldMatch
}

// fieldMatch is a match on a header or a query parameter.
type fieldMatch struct {
	name, value string
	regex       bool
}

// routeRule is one rule of an HTTPRoute or a GRPCRoute.
type routeRule struct {
	index   int
	grpc    bool
	matches []match
	// filters are the filters of the rule, in order. Filters of GRPCRoutes are converted to filters of HTTPRoutes.
	filters  []gwv1.HTTPRouteFilter
	backends []gwv1.BackendRef
	// ignored are the names of fields that have no effect.
	ignored []string
}

func (r routeRule) field() string { return fmt.Sprintf("spec.rules[%d]", r.index) }

// rulesOf returns the rules of a route.
func rulesOf(obj cluster.Object) []routeRule {
	switch o := obj.(type) {
	case *gwv1.HTTPRoute:
		return httpRules(o)
	case *gwv1.GRPCRoute:
		return grpcRules(o)
	}
	return nil
}

func httpRules(o *gwv1.HTTPRoute) []routeRule {
	rules := o.Spec.Rules
	if len(rules) == 0 {
		rules = []gwv1.HTTPRouteRule{{}} // the API server sets this default
	}
	out := make([]routeRule, 0, len(rules))
	for i, r := range rules {
		x := routeRule{index: i, filters: r.Filters}
		for j, b := range r.BackendRefs {
			x.backends = append(x.backends, b.BackendRef)
			if len(b.Filters) > 0 {
				x.ignored = append(x.ignored, fmt.Sprintf("backendRefs[%d].filters", j))
			}
		}
		//lint:ignore SA1019 routes of earlier versions of the API have session persistence, which is reported to have no effect
		persists := r.SessionPersistence != nil
		for _, f := range []struct {
			name string
			set  bool
		}{{"timeouts", r.Timeouts != nil}, {"retry", r.Retry != nil}, {"sessionPersistence", persists}} {
			if f.set {
				x.ignored = append(x.ignored, f.name)
			}
		}
		matches := r.Matches
		if matches == nil {
			matches = []gwv1.HTTPRouteMatch{{}} // the API server sets this default
		}
		for j, m := range matches {
			x.matches = append(x.matches, httpMatch(j, m))
		}
		out = append(out, x.withDefaultMatch())
	}
	return out
}

// withDefaultMatch returns the rule. If it has no matches, it gets a match for all requests.
func (r routeRule) withDefaultMatch() routeRule {
	if len(r.matches) == 0 {
		r.matches = []match{{index: math.MaxInt}}
	}
	return r
}

func httpMatch(index int, m gwv1.HTTPRouteMatch) match {
	out := match{index: index, path: prefixPath, value: "/"}
	if p := m.Path; p != nil {
		if p.Value != nil {
			out.value = *p.Value
		}
		if p.Type != nil {
			switch *p.Type {
			case gwv1.PathMatchExact:
				out.path = exactPath
			case gwv1.PathMatchRegularExpression:
				out.path = regexPath
			}
		}
	}
	if m.Method != nil {
		out.method = string(*m.Method)
	}
	for _, h := range m.Headers {
		out.headers = append(out.headers, fieldMatch{string(h.Name), h.Value, h.Type != nil && *h.Type == gwv1.HeaderMatchRegularExpression})
	}
	for _, q := range m.QueryParams {
		out.queries = append(out.queries, fieldMatch{string(q.Name), q.Value, q.Type != nil && *q.Type == gwv1.QueryParamMatchRegularExpression})
	}
	return out
}

func grpcRules(o *gwv1.GRPCRoute) []routeRule {
	out := make([]routeRule, 0, len(o.Spec.Rules))
	for i, r := range o.Spec.Rules {
		x := routeRule{index: i, grpc: true}
		for j, b := range r.BackendRefs {
			x.backends = append(x.backends, b.BackendRef)
			if len(b.Filters) > 0 {
				x.ignored = append(x.ignored, fmt.Sprintf("backendRefs[%d].filters", j))
			}
		}
		//lint:ignore SA1019 as for an HTTPRoute
		if r.SessionPersistence != nil {
			x.ignored = append(x.ignored, "sessionPersistence")
		}
		for _, f := range r.Filters {
			x.filters = append(x.filters, gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterType(f.Type), ExtensionRef: f.ExtensionRef})
		}
		for j, m := range r.Matches {
			x.matches = append(x.matches, grpcMatch(j, m))
		}
		out = append(out, x.withDefaultMatch())
	}
	return out
}

func grpcMatch(index int, m gwv1.GRPCRouteMatch) match {
	out := match{index: index}
	if of := m.Method; of != nil {
		out.path = exactPath
		if of.Type != nil && *of.Type == gwv1.GRPCMethodMatchRegularExpression {
			out.path = regexPath
		}
		if of.Service != nil {
			out.service = *of.Service
		}
		if of.Method != nil {
			out.procedure = *of.Method
		}
	}
	for _, h := range m.Headers {
		out.headers = append(out.headers, fieldMatch{string(h.Name), h.Value, h.Type != nil && *h.Type == gwv1.GRPCHeaderMatchRegularExpression})
	}
	return out
}

// isLiteral reports whether a regular expression matches only its own text.
func isLiteral(s string) bool { return !strings.ContainsAny(s, `\.+*?()|[]{}^$`) }

// countRules returns how many listener rules the rules of a route need for each hostname.
func countRules(rules []routeRule) int {
	n := 0
	for _, r := range rules {
		n += len(r.matches)
	}
	return n
}

// matchesEverything reports whether a match matches all requests.
func (m match) matchesEverything() bool {
	all := m.path == anyPath && m.service == "" && m.procedure == "" || m.path == prefixPath && m.value == "/"
	return all && m.method == "" && len(m.headers)+len(m.queries) == 0
}

// hasExtension reports whether a rule names a ListenerRuleConfiguration, which can add conditions.
func (r routeRule) hasExtension() bool {
	return slices.ContainsFunc(r.filters, func(f gwv1.HTTPRouteFilter) bool { return f.Type == gwv1.HTTPRouteFilterExtensionRef })
}
