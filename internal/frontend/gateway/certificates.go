package gateway

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/members"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/ownership"
)

// certificates are those of a listener with TLS: the ones that the configuration names, or else those that ACM has for
// the hostnames of listeners and routes. A hostname without a certificate is a fault of the object that names it.
func (t *translation) certificates(p *port) []model.CertChoice {
	if p.entry != nil {
		var arns []string
		if c := p.entry.DefaultCertificate; c != nil && *c != "" {
			arns = append(arns, *c)
		}
		for _, c := range p.entry.Certificates {
			if !slices.Contains(arns, c) {
				arns = append(arns, c)
			}
		}
		if len(arns) > 0 {
			return []model.CertChoice{model.CertARNs{Member: t.ref, ARNs: arns, Field: members.FieldOn(t.ref, p.at)}}
		}
	}
	var out []model.CertChoice
	covered := map[string]bool{}
	for _, l := range p.listeners {
		if h := l.Hostname(); h != "" && !covered[h] {
			covered[h] = true
			out = append(out, model.CertHosts{Member: l.Parent, Hosts: []string{h}, Fields: []string{fmt.Sprintf("spec.listeners[%d].hostname", l.Index)}})
		}
	}
	for _, r := range p.routes {
		var hosts, fields []string
		for _, h := range r.Hostnames {
			if h != "" && !covered[h] && !slices.Contains(r.Isolated, h) {
				hosts, fields = append(hosts, h), append(fields, "spec.hostnames")
			}
		}
		if len(hosts) > 0 {
			out = append(out, model.CertHosts{Member: t.routeRef(r.Route), Hosts: hosts, Fields: fields})
		}
	}
	return out
}

// routeRef names a route of the Gateway in findings.
func (t *translation) routeRef(n int) finding.Ref {
	return ownership.RefOf(t.attached.Routes[n].Object)
}
