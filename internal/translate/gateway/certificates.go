package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// certificateBuilder builds the certificates of listeners.
type certificateBuilder struct{ *translation }

// certificates returns the certificates of a port with TLS. Certificates that the configuration sets for the port have
// precedence. Without them, a listener uses certificates that were imported earlier and are held, or the certificates in its
// Secrets if Secrets are imported. For other hostnames, certificates in ACM are searched. A hostname without a certificate
// is reported on the object that has the hostname.
func (t certificateBuilder) certificates(p *port) []model.CertChoice {
	if arns := p.certificateARNs(); len(arns) > 0 {
		return []model.CertChoice{model.CertARNs{Member: t.ref, ARNs: arns, Field: members.FieldForObject(t.ref, p.at)}}
	}
	var out []model.CertChoice
	covered := map[string]bool{}
	for _, l := range p.listeners {
		h := l.Hostname()
		if held := t.heldCertificates[l]; len(held) > 0 {
			out = append(out, model.CertARNs{Member: l.Parent, ARNs: held, Field: t.secretsOf(l)[0].ReferencedAt.Field, Live: true})
		} else if secrets := t.secretsOf(l); t.opt.ImportCertificates && len(secrets) > 0 {
			own := model.CertManaged{Member: l.Parent, Field: secrets[0].ReferencedAt.Field}
			for _, s := range secrets {
				if !t.refusedSecrets[assemble.TLSSecretUse{ID: s.ID(), ReferencedAt: s.ReferencedAt}] {
					own.IDs = append(own.IDs, s.ID())
				}
			}
			if len(own.IDs) > 0 {
				out = append(out, own)
			}
		}
		if t.hasListenerCertificates(l) {
			covered[h] = true
		} else if h != "" && !covered[h] {
			covered[h] = true
			out = append(out, model.CertHosts{Member: l.Parent, Hosts: []string{h}, Fields: []string{fmt.Sprintf("spec.listeners[%d].hostname", l.Index)}})
		}
	}
	for _, r := range p.routes {
		var hosts, fields []string
		for _, h := range r.Hostnames {
			if h != "" && !covered[h] && !slices.Contains(r.IsolatedHostnames, h) && !t.isCoveredByListenerCertificates(p, h) {
				hosts, fields = append(hosts, h), append(fields, "spec.hostnames")
			}
		}
		if len(hosts) > 0 {
			out = append(out, model.CertHosts{Member: t.routeRef(r.Route), Hosts: hosts, Fields: fields})
		}
	}
	return out
}

// hasListenerCertificates reports whether the certificates of a listener are given by its certificateRefs, or were imported
// earlier and are held. In both cases, ACM is not searched for certificates by hostname.
func (t certificateBuilder) hasListenerCertificates(l *attach.Listener) bool {
	return t.opt.ImportCertificates && l.Spec.TLS != nil && len(l.Spec.TLS.CertificateRefs) > 0 || len(t.heldCertificates[l]) > 0
}

// isCoveredByListenerCertificates reports whether host, a hostname of a route, matches a listener of the port that has its
// certificates from certificateRefs or from an earlier import.
func (t certificateBuilder) isCoveredByListenerCertificates(p *port, host string) bool {
	return slices.ContainsFunc(p.listeners, func(l *attach.Listener) bool {
		h := l.Hostname()
		return t.hasListenerCertificates(l) && (h == "" || plan.DomainCovers(h, host) || strings.HasPrefix(h, "*.") && strings.HasSuffix(host, h[1:]))
	})
}

// secretsOf returns the TLS Secrets that a listener names in certificateRefs and that it may use.
func (t certificateBuilder) secretsOf(l *attach.Listener) []assemble.TLSSecret {
	var out []assemble.TLSSecret
	for _, s := range l.Certificates {
		out = append(out, assemble.TLSSecret{
			Namespace: s.Namespace, Name: s.Name,
			ReferencedAt: finding.Origin{Object: l.Parent, Field: fmt.Sprintf("spec.listeners[%d].tls.certificateRefs", l.Index)},
		})
	}
	return out
}

// importFlagValue is the value of --import-tls-secrets that enables the import of certificates for Gateways.
const importFlagValue = "gateway"

// holdImports adds the existing certificates that were imported from the Secrets of the listeners of a port to
// heldCertificates.
func (t certificateBuilder) holdImports(p *port) {
	// No certificate is named by ARN here, because holdImports is not called for ports with certificates in the
	// configuration.
	of := assemble.NewHeldCertificates(&t.Builder, importFlagValue, func(string) bool { return false })
	for _, l := range p.listeners {
		if held := of.HeldImports(p.Number, t.secretsOf(l)); len(held.ARNs) > 0 {
			t.heldCertificates[l] = held.ARNs
		}
	}
}

// importCertificates imports the certificates from Secrets for all TLS ports that have no certificates in the configuration.
// If Secrets are not imported, it holds the certificates that were imported earlier.
func (t certificateBuilder) importCertificates(ports []*port) {
	var all []assemble.TLSSecret
	claims := &assemble.HostClaims{}
	rank := map[*attach.Listener]int{}
	for i := range t.attached.Listeners {
		rank[&t.attached.Listeners[i]] = i
	}
	for _, p := range ports {
		if !p.TLS || len(p.certificateARNs()) > 0 {
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
	t.refusedSecrets = assemble.ImportTLSSecrets(&t.Builder, t.member, all, claims, ruleConfigBuilder(t).readSecret)
	t.AddManagedCertificates()
}

// certificateARNs returns the certificates that the configuration sets for a port, the default one first.
func (p *port) certificateARNs() []string {
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

// routeRef returns a reference to the route with index n in attached.Routes.
func (t *translation) routeRef(n int) finding.Ref {
	return cluster.RefOf(t.attached.Routes[n].Object)
}
