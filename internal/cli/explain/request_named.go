package explain

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// hostnameAnnotation is read by external-dns, which makes records for load balancers.
const hostnameAnnotation = "external-dns.alpha.kubernetes.io/hostname"

// namingSource returns what names the host of the request, "" where any host is taken. A port that redirects to another
// one has no rules of its own, so those of the other listeners of the load balancer count as well, and so does a rule
// for the host that asks for another path or method: clients of the host reach its load balancer.
func (a *answering) namingSource(one requestAnswer, d engine.Draft, listeners []resolved.ListenerChoices) string {
	same := ""
	if one.host != "" {
		return finding.Printable("host " + one.host)
	}
	for _, m := range d.Stack.Members {
		obj, err := a.store.Get(cluster.Ref{Kind: cluster.Kind(m.Ref.Kind), Namespace: m.Ref.Namespace, Name: m.Ref.Name})
		if err != nil || obj == nil {
			continue
		}
		if hasName(obj, a.Host) {
			return fmt.Sprintf("annotation %s of %s", hostnameAnnotation, m.Ref)
		}
	}
	for _, l := range listeners {
		for _, r := range l.Rules {
			host := hostOf(r.Rule, a.Request)
			switch {
			case host != "" && l.Desired.Port != a.port:
				return finding.Printable(fmt.Sprintf("host %s of port %d", host, l.Desired.Port))
			case host != "":
				same = finding.Printable(fmt.Sprintf("host %s of a rule that does not match", host))
			}
		}
	}
	return same
}

// hostOf returns the pattern of a rule for the host of a request, "" if the rule takes any.
func hostOf(r model.Rule, req model.Request) string {
	for _, c := range r.Conditions {
		h, ok := c.(model.HostHeader)
		if !ok {
			continue
		}
		for _, pattern := range h.Values {
			if _, matches := model.Evaluate([]model.Rule{{Conditions: []model.Condition{model.HostHeader{Values: []string{pattern}}}}}, req); matches {
				if pattern == "*" {
					return ""
				}
				return pattern
			}
		}
		for _, expr := range h.Regex {
			if _, matches := model.Evaluate([]model.Rule{{Conditions: []model.Condition{model.HostHeader{Regex: []string{expr}}}}}, req); !matches {
				continue
			}
			if host, ok := model.PlainHost(expr); ok {
				return host // as the user wrote it
			}
			return expr
		}
	}
	return ""
}

// hasName reports whether the annotation that external-dns reads names a host.
func hasName(obj cluster.Object, host string) bool {
	for name := range strings.SplitSeq(obj.GetAnnotations()[hostnameAnnotation], ",") {
		if name = strings.TrimSuffix(strings.TrimSpace(name), "."); name != "" && strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}
