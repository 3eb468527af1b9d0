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

// hostnameAnnotation is the annotation from which external-dns reads the hostnames that lead to a load balancer.
const hostnameAnnotation = "external-dns.alpha.kubernetes.io/hostname"

// namingSource returns the part of a stack that names the host of the request, as text, or "" if the load balancer takes
// requests for any host. A listener that redirects to another port has no rules, so rules of all listeners of the load
// balancer are considered. Rules for the host with another path or method are considered too, because clients of the host
// reach this load balancer.
func (a *answerCollector) namingSource(answer requestAnswer, d engine.Draft, listeners []resolved.Listener) string {
	otherRule := ""
	if answer.hostPattern != "" {
		return finding.Printable("host " + answer.hostPattern)
	}
	for _, m := range d.Stack.Members {
		obj, err := a.store.Get(cluster.RefFromFinding(m.Ref))
		if err != nil || obj == nil {
			continue
		}
		if hasHostnameAnnotation(obj, a.Host) {
			return fmt.Sprintf("annotation %s of %s", hostnameAnnotation, m.Ref)
		}
	}
	for _, l := range listeners {
		for _, r := range l.Rules {
			host := hostOf(r.Desired, a.Request)
			switch {
			case host != "" && l.Desired.Port != a.port:
				return finding.Printable(fmt.Sprintf("host %s of port %d", host, l.Desired.Port))
			case host != "":
				otherRule = finding.Printable(fmt.Sprintf("host %s of a rule that does not match", host))
			}
		}
	}
	return otherRule
}

// hostOf returns the host pattern of a rule that matches the host of a request, or "" if the rule matches any host or another
// one.
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

// hasHostnameAnnotation reports whether the annotation for external-dns of an object names a host.
func hasHostnameAnnotation(obj cluster.Object, host string) bool {
	for name := range strings.SplitSeq(obj.GetAnnotations()[hostnameAnnotation], ",") {
		if name = strings.TrimSuffix(strings.TrimSpace(name), "."); name != "" && strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}
