package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// certificateBuilder builds the certificates of listeners.
type certificateBuilder struct{ *translation }

// certificates returns the certificates of a listener with TLS: the ones that the configuration names; or else those of
// the Secrets that listeners name, where these are imported; or else those that ACM has for the hostnames of listeners
// and routes. A hostname without a certificate is a fault of the object that names it.
func (t certificateBuilder) certificates(p *port) []model.CertChoice {
	if arns := p.arns(); len(arns) > 0 {
		return []model.CertChoice{model.CertARNs{Member: t.ref, ARNs: arns, Field: members.FieldOn(t.ref, p.at)}}
	}
	var out []model.CertChoice
	covered := map[string]bool{}
	for _, l := range p.listeners {
		h := l.Hostname()
		if held := t.held[l]; len(held) > 0 {
			out = append(out, model.CertARNs{Member: l.Parent, ARNs: held, Field: t.secretsOf(l)[0].By.Field, Live: true})
		} else if secrets := t.secretsOf(l); t.opt.ImportCertificates && len(secrets) > 0 {
			own := model.CertManaged{Member: l.Parent, Field: secrets[0].By.Field}
			for _, s := range secrets {
				if !t.refused[assemble.TLSSecretUse{ID: s.ID(), By: s.By}] {
					own.IDs = append(own.IDs, s.ID())
				}
			}
			if len(own.IDs) > 0 {
				out = append(out, own)
			}
		}
		if t.named(l) {
			covered[h] = true
		} else if h != "" && !covered[h] {
			covered[h] = true
			out = append(out, model.CertHosts{Member: l.Parent, Hosts: []string{h}, Fields: []string{fmt.Sprintf("spec.listeners[%d].hostname", l.Index)}})
		}
	}
	for _, r := range p.routes {
		var hosts, fields []string
		for _, h := range r.Hostnames {
			if h != "" && !covered[h] && !slices.Contains(r.Isolated, h) && !t.servedByName(p, h) {
				hosts, fields = append(hosts, h), append(fields, "spec.hostnames")
			}
		}
		if len(hosts) > 0 {
			out = append(out, model.CertHosts{Member: t.routeRef(r.Route), Hosts: hosts, Fields: fields})
		}
	}
	return out
}

// named reports whether a listener names its certificates, so that none are looked for.
func (t certificateBuilder) named(l *attach.Listener) bool {
	return t.opt.ImportCertificates && l.Spec.TLS != nil && len(l.Spec.TLS.CertificateRefs) > 0 || len(t.held[l]) > 0
}

// servedByName reports whether a hostname of a route is one of a listener that names its certificates.
func (t certificateBuilder) servedByName(p *port, host string) bool {
	return slices.ContainsFunc(p.listeners, func(l *attach.Listener) bool {
		h := l.Hostname()
		return t.named(l) && (h == "" || plan.Covers(h, host) || strings.HasPrefix(h, "*.") && strings.HasSuffix(host, h[1:]))
	})
}

// secretsOf returns the TLS Secrets of a listener that may be imported.
func (t certificateBuilder) secretsOf(l *attach.Listener) []assemble.TLSSecret {
	var out []assemble.TLSSecret
	for _, s := range l.Certificates {
		out = append(out, assemble.TLSSecret{
			Namespace: s.Namespace, Name: s.Name,
			By: finding.Origin{Object: l.Parent, Field: fmt.Sprintf("spec.listeners[%d].tls.certificateRefs", l.Index)},
		})
	}
	return out
}

// secretsFlag is what --import-tls-secrets calls Gateways.
const secretsFlag = "gateway"

// holdImports holds what was imported from the Secrets of the listeners of a port.
func (t certificateBuilder) holdImports(p *port) {
	// A port for which the configuration names certificates has no others.
	of := assemble.NewHeldCertificates(&t.Builder, secretsFlag, func(string) bool { return false })
	for _, l := range p.listeners {
		if held := of.Imports(p.Number, t.secretsOf(l)); len(held.ARNs) > 0 {
			t.held[l] = held.ARNs
		}
	}
}

// importCertificates imports the certificates of all listeners with TLS whose configuration names none, or holds what was
// imported.
func (t certificateBuilder) importCertificates(ports []*port) {
	var all []assemble.TLSSecret
	claims := &assemble.HostClaims{}
	rank := map[*attach.Listener]int{}
	for i := range t.attached.Listeners {
		rank[&t.attached.Listeners[i]] = i
	}
	for _, p := range ports {
		if !p.TLS || len(p.arns()) > 0 {
			continue
		}
		if !t.opt.ImportCertificates {
			t.holdImports(p)
			continue
		}
		for _, l := range p.listeners {
			if h := l.Hostname(); h != "" {
				claims.Add(h, l.Parent, rank[l])
			}
			for _, s := range t.secretsOf(l) {
				if s.Rank = rank[l]; l.Parent != t.ref {
					s.RequiredHostname = l.Hostname()
				}
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b assemble.TLSSecret) int { return a.Rank - b.Rank })
	t.refused = assemble.ImportTLSSecrets(&t.Builder, t.member, all, claims, ruleConfigBuilder(t).secret)
	t.ManagedCertificates()
}

// arns returns the certificates that the configuration names for a port, the default one first.
func (p *port) arns() []string {
	if p.entry == nil {
		return nil
	}
	var arns []string
	if c := p.entry.DefaultCertificate; c != nil && *c != "" {
		arns = append(arns, *c)
	}
	for _, c := range p.entry.Certificates {
		if !slices.Contains(arns, c) {
			arns = append(arns, c)
		}
	}
	return arns
}

// routeRef names a route of the Gateway in findings.
func (t *translation) routeRef(n int) finding.Ref {
	return ownership.RefOf(t.attached.Routes[n].Object)
}
