package certificates

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// retainAttachedCertificates retains the attached certificates of a listener, because a fact from which the certificates of
// a member are chosen is unavailable. The rules of the member are held only if it has a host that the listener does not serve yet:
// the attached certificates may not be valid for this host.
func (cc *Chooser) retainAttachedCertificates(out *resolved.Certificates, l model.Listener, live *observed.Listener, choice model.CertChoice, f observed.Fault) {
	var of finding.Origin
	switch c := choice.(type) {
	case model.CertARNs:
		of.Object, of.Field = c.Member, c.Field
	case model.CertManaged:
		of.Object, of.Field = c.Member, c.Field
	case model.CertHosts:
		of.Object = c.Member
		if len(c.Fields) > 0 {
			of.Field = c.Fields[0]
		}
	}
	out.Unavailable = true
	now, reach := fmt.Sprintf("port %d keeps its certificates", l.Port), finding.BlocksNothing
	switch {
	case live == nil || live.Protocol != l.Protocol():
		out.BlockedMembers = append(out.BlockedMembers, of.Object)
		now, reach = fmt.Sprintf("port %d does not serve this object yet", l.Port), finding.BlocksMember
	case hasNewHost(l, live, of.Object):
		out.BlockedMembers = append(out.BlockedMembers, of.Object)
		now, reach = now+", and this object keeps its rules there", finding.BlocksMember
	}
	cc.ReportUnavailable(f, now, reach, of)
}

// hasNewHost reports whether a member has a rule for a host for which the listener has no rule in AWS.
func hasNewHost(l model.Listener, live *observed.Listener, member finding.Ref) bool {
	served := map[string]bool{}
	for _, r := range live.Rules {
		for _, h := range (model.Rule{Conditions: r.Conditions}).Hosts() {
			served[h] = true
		}
	}
	return slices.ContainsFunc(l.Rules, func(r model.Rule) bool {
		return r.Member == member && slices.ContainsFunc(r.Hosts(), func(h string) bool { return !served[h] })
	})
}
