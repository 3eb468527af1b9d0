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

// hostnameAnnotations are the annotations in which external-dns finds the hostnames for a load balancer. external-dns
// reads the second annotation before version 0.22, and in later versions only with --enable-legacy-annotation-prefix.
var hostnameAnnotations = []string{"external-dns.kubernetes.io/hostname", "external-dns.alpha.kubernetes.io/hostname"}

// hostNamedBy describes what names the host of the request, or returns "" if the load balancer accepts requests for any
// host. It considers the rules of all listeners, because a listener that redirects to another port has no rules. It also
// considers rules for the host that do not match the path or method, because clients of the host reach this load balancer.
func (a *answerCollector) hostNamedBy(answer requestAnswer, d engine.Draft, listeners []resolved.Listener) string {
	otherRule := ""
	if answer.hostPattern != "" {
		return finding.EscapeNonPrintable("host " + answer.hostPattern)
	}
	for _, m := range d.Stack.Members {
		obj, err := a.store.Get(m.Ref)
		if err != nil || obj == nil {
			continue
		}
		if key := annotationWithHost(obj, a.Host); key != "" {
			return fmt.Sprintf("annotation %s of %s", key, m.Ref)
		}
	}
	for _, l := range listeners {
		for _, r := range l.Rules {
			host := matchingHostPattern(r.Desired, a.Request)
			switch {
			case host != "" && l.Desired.Port != a.port:
				return finding.EscapeNonPrintable(fmt.Sprintf("host %s of port %d", host, l.Desired.Port))
			case host != "":
				otherRule = finding.EscapeNonPrintable(fmt.Sprintf("host %s of a rule that does not match", host))
			}
		}
	}
	return otherRule
}

// matchingHostPattern returns the host pattern of a rule that matches the host of a request. It returns "" if the rule has
// no condition on the host, or if no pattern matches.
func matchingHostPattern(r model.Rule, req model.Request) string {
	for _, c := range r.Conditions {
		h, ok := c.(model.HostHeader)
		if !ok {
			continue
		}
		for _, pattern := range h.Values {
			if _, matches := model.FirstMatchingRule([]model.Rule{{Conditions: []model.Condition{model.HostHeader{Values: []string{pattern}}}}}, req); matches {
				if pattern == "*" {
					return ""
				}
				return pattern
			}
		}
		for _, expr := range h.Regex {
			if _, matches := model.FirstMatchingRule([]model.Rule{{Conditions: []model.Condition{model.HostHeader{Regex: []string{expr}}}}}, req); !matches {
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

// annotationWithHost returns the key of the external-dns annotation of an object that has the given host, or "" if there is
// none.
func annotationWithHost(obj cluster.Object, host string) string {
	for _, key := range hostnameAnnotations {
		for name := range strings.SplitSeq(obj.GetAnnotations()[key], ",") {
			if name = strings.TrimSuffix(strings.TrimSpace(name), "."); name != "" && strings.EqualFold(name, host) {
				return key
			}
		}
	}
	return ""
}
