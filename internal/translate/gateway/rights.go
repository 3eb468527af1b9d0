package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// WithdrawnResources returns the existing rules, target groups and certificates that are no longer permitted: listeners do
// not admit the namespace or kind of the route for a hostname, or no ReferenceGrant permits the reference. Routes and
// configurations that are not valid do not change the result. If the API server does not serve a kind of object, nothing is
// withdrawn because of missing objects of that kind.
func (f *Frontend) WithdrawnResources(v *cluster.View, id model.StackID, have observed.Stack) (model.Withdrawn, []model.Question) {
	if !f.routesInstalled(v) {
		return model.Withdrawn{}, nil
	}
	// A Gateway that is being deleted, or does not exist any more, may still have a load balancer because of deletion
	// protection.
	gw, ok := cluster.Get[*gwv1.Gateway](v, cluster.KindGateway, id.Namespace, id.Name)
	if !ok {
		gw = &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name}}
	}
	protectedFromMove := false
	if l := f.loadGateway(v, id); l.movedAway && !l.unprotected {
		protected, unknown := plan.IsProtected(have)
		protectedFromMove = protected || l.deletionGuard != nil
		if !protectedFromMove && len(unknown) > 0 {
			return model.Withdrawn{}, unknown
		}
	}
	// The existing load balancer decides which listeners are valid, as in Translate.
	t := &translation{Builder: assemble.Builder{Translation: members.Translation{ID: id, Live: &have}}, opt: f.opt, view: v, gw: gw}
	if id.Kind == model.NLBGateway {
		t.Type = model.Network
	}
	// If the class does not exist, its controller name is not known. The hostname conditions of strictConformance are
	// correct for all controller names.
	class, known := cluster.Get[*gwv1.GatewayClass](v, cluster.KindGatewayClass, "", string(gw.Spec.GatewayClassName))
	t.strictConformance = !known || class.Spec.ControllerName == gatewayconfig.FulcrumController
	r := &rightsChecker{
		conditions: conditionBuilder{t},
		view:       v, liveStack: have, gateway: cluster.RefOf(gw), network: id.Kind == model.NLBGateway,
		listenersKnown: ok && !f.lacksListenerSets(v, gw), grantsKnown: v.Installed(cluster.KindReferenceGrant),
		attached:            attach.Evaluate(v, gw, id.Kind, attach.Options{ListenerSets: f.readsListenerSets(v), Live: observedRoutes{t}}),
		routesByTargetGroup: map[string][]finding.Ref{},
		withdrawn: model.Withdrawn{
			Rules: map[string]model.Withdrawal{}, TargetGroups: map[string]model.Withdrawal{}, Certificates: map[model.ListenerCertificate]model.Withdrawal{},
			Protocols: map[string]model.WithdrawnProtocol{},
		},
	}
	for _, lb := range have.LoadBalancers {
		for i := range lb.Listeners {
			l := &lb.Listeners[i]
			if protectedFromMove {
				r.withdrawActions(l)
			} else {
				r.checkListener(l)
			}
			if f.opt.ImportCertificates && l.Certificate != "" {
				r.questions = append(r.questions, model.AskOwnCertificates{})
				r.checkCertificates(l)
			}
		}
	}
	return r.withdrawn, r.questions
}

// withdrawActions withdraws all rules and the default action of a listener. It is called if the load balancer is protected
// from deletion, and the GatewayClass now belongs to another controller. A default action that refuses all requests is
// always permitted.
func (r *rightsChecker) withdrawActions(l *observed.Listener) {
	w := model.Withdrawal{
		Object: r.gateway, Field: classField, Reason: finding.GatewayClassInvalid,
		Message: "the GatewayClass belongs to another controller", Fix: "restore the GatewayClass, or set spec.gatewayClassName to a class of this controller",
	}
	if !plan.IsErrorResponse(l.Default) {
		r.withdrawn.Rules[l.ARN] = w
	}
	for i := range l.Rules {
		r.withdrawn.Rules[l.Rules[i].ARN] = w
	}
}

// readsListenerSets reports whether ListenerSets are read: the operator enables them, and the API server serves that kind.
func (f *Frontend) readsListenerSets(v *cluster.View) bool {
	return f.opt.ListenerSets && v.Installed(cluster.KindListenerSet)
}

// lacksListenerSets reports whether the Gateway had ListenerSets, although the API server does not serve that kind now.
func (f *Frontend) lacksListenerSets(v *cluster.View, gw *gwv1.Gateway) bool {
	n := gw.Status.AttachedListenerSets
	return f.opt.ListenerSets && !v.Installed(cluster.KindListenerSet) && n != nil && *n > 0
}

// rightsChecker checks whether listeners and ReferenceGrants still permit the rules, target groups and certificates of the
// existing load balancer.
type rightsChecker struct {
	view      *cluster.View
	liveStack observed.Stack
	gateway   finding.Ref
	network   bool
	// listenersKnown reports whether all listeners of the Gateway are known, and grantsKnown whether all ReferenceGrants are
	// known.
	listenersKnown, grantsKnown bool
	attached                    attach.Result
	conditions                  conditionBuilder
	// routesByTargetGroup has, by ARN of a target group, the routes for which it was created or may have been created.
	routesByTargetGroup map[string][]finding.Ref
	withdrawn           model.Withdrawn
	// questions are the questions about further facts in AWS that the check needs.
	questions []model.Question
}

// checkListener checks an existing listener and its rules for withdrawn permissions.
func (r *rightsChecker) checkListener(l *observed.Listener) {
	if r.network && r.listenersKnown {
		r.checkNetworkListener(l)
	}
	r.checkTargetGroups(l.Default)
	for i := range l.Rules {
		rule := &l.Rules[i]
		r.checkTargetGroups(rule.Actions)
		if !r.listenersKnown {
			continue
		}
		for _, h := range hostsOf(rule) {
			if owner, ok := r.mayServe(l.Port, rule.Actions, h); !ok {
				r.withdrawn.Rules[rule.ARN] = model.Withdrawal{
					Object: owner, Field: "spec.parentRefs", Reason: finding.RouteNotAdmitted,
					Message: fmt.Sprintf("no listener of port %d admits the route for hostname %q", l.Port, h),
					Fix:     "ask the owner of the Gateway to admit the namespace in allowedRoutes of the listener with this hostname",
				}
			}
		}
	}
	if r.listenersKnown {
		r.checkHostnames(l)
	}
}

// mayServe reports whether a possible owner of a rule may serve a hostname on a port. If none may, it returns the object on
// which the withdrawal is reported.
func (r *rightsChecker) mayServe(port int32, actions []model.Action, host string) (finding.Ref, bool) {
	if len(r.ownersOf(actions)) == 0 && plan.IsErrorResponse(actions) {
		return finding.Ref{}, true
	}
	return r.mayAnyOwnerServe(port, actions, r.ownersOrPossibleOwners(actions, host), host)
}

// ownersOrPossibleOwners returns the routes that own the target groups of a rule. For a rule without target groups, it
// returns the routes that may claim its hostname.
func (r *rightsChecker) ownersOrPossibleOwners(actions []model.Action, host string) []finding.Ref {
	if owners := r.ownersOf(actions); len(owners) > 0 {
		return owners
	}
	return r.possibleOwnersOf(host)
}

// mayAnyOwnerServe reports whether one of the owners may serve a hostname on a port. If none may, it returns the object on
// which the withdrawal is reported.
func (r *rightsChecker) mayAnyOwnerServe(port int32, actions []model.Action, owners []finding.Ref, host string) (finding.Ref, bool) {
	for _, o := range owners {
		if r.attached.MayServe(o.Namespace, o.Kind, port, host) {
			return finding.Ref{}, true
		}
	}
	if hasNoForward(actions) {
		return r.gateway, false
	}
	return r.objectToReport(owners), false
}

// possibleOwnersOf returns the possible owners of a rule without target groups, such as a redirect: the routes that name the
// hostname of the rule, or all routes if none names it. If it always returned all routes, the redirect of a route that may
// no longer use the hostname would stay as long as any other route may use the hostname.
func (r *rightsChecker) possibleOwnersOf(host string) (out []finding.Ref) {
	var all []finding.Ref
	for n := range r.attached.Routes {
		obj := r.attached.Routes[n].Object
		all = append(all, cluster.RefOf(obj))
		if attach.MayClaimHost(obj, host) {
			out = append(out, cluster.RefOf(obj))
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// hasNoForward reports whether actions do not forward to a target group.
func hasNoForward(actions []model.Action) bool {
	return !slices.ContainsFunc(actions, func(a model.Action) bool { _, ok := a.(model.Forward); return ok })
}

// objectToReport returns the object on which a withdrawal is reported: an owner that is a route of the Gateway, otherwise
// the Gateway.
func (r *rightsChecker) objectToReport(owners []finding.Ref) finding.Ref {
	for n := range r.attached.Routes {
		if ref := cluster.RefOf(r.attached.Routes[n].Object); slices.Contains(owners, ref) {
			return ref
		}
	}
	return r.gateway
}

// ownersOf returns the routes for which the target groups of actions were created, or may have been created.
func (r *rightsChecker) ownersOf(actions []model.Action) (out []finding.Ref) {
	for _, g := range model.ForwardedTargetGroups(actions) {
		out = append(out, r.ownersOfTargetGroup(g.Group.ARN)...)
	}
	return out
}

// ownersOfTargetGroup returns the routes for which a target group may have been created, according to its id. If the id
// matches routes of the Gateway, only these are returned, otherwise all routes that the id can name.
func (r *rightsChecker) ownersOfTargetGroup(arn string) []finding.Ref {
	if out, known := r.routesByTargetGroup[arn]; known {
		return out
	}
	var out []finding.Ref
	id := r.targetGroup(arn).ResourceID
	for n := range r.attached.Routes {
		if ref := cluster.RefOf(r.attached.Routes[n].Object); naming.TargetGroupMayBeOfRoute(id, r.gateway, ref) {
			out = append(out, ref)
		}
	}
	if len(out) == 0 {
		parts, _ := naming.GatewayTargetGroupPartsOf(id)
		out = parts.Routes
	}
	r.routesByTargetGroup[arn] = out
	return out
}

func (r *rightsChecker) targetGroup(arn string) observed.TargetGroup {
	for _, g := range r.liveStack.TargetGroups {
		if g.ARN == arn {
			return g
		}
	}
	return observed.TargetGroup{}
}

// checkTargetGroups withdraws those target groups of actions that no ReferenceGrant permits.
func (r *rightsChecker) checkTargetGroups(actions []model.Action) {
	if !r.grantsKnown {
		return
	}
	for _, g := range model.ForwardedTargetGroups(actions) {
		if _, known := r.withdrawn.TargetGroups[g.Group.ARN]; known {
			continue
		}
		if to, permitted := r.mayForward(g.Group.ARN); !permitted {
			owners := r.ownersOfTargetGroup(g.Group.ARN)
			owner := r.objectToReport(owners)
			from := owner // the object that has to be permitted, which is the route even if it is not attached any more
			if len(owners) > 0 {
				from = owners[0]
			}
			r.withdrawn.TargetGroups[g.Group.ARN] = model.Withdrawal{
				Object: owner, Field: "spec.rules", Reason: finding.ReferenceNotPermitted,
				Message: fmt.Sprintf("no ReferenceGrant in namespace %q permits %s %q", to.Namespace, to.Kind, to.Name),
				Fix:     fmt.Sprintf("create a ReferenceGrant in that namespace, from kind %s of namespace %s to kind %s", from.Kind, from.Namespace, to.Kind),
			}
		}
	}
}

// mayForward reports whether the route of a target group may refer to its backend. If it may not, the backend is returned.
// The backend is read from the TargetGroupBinding, or from the target if that is the load balancer of another Gateway. If
// neither is known, each backend that the id of the target group can name is checked.
func (r *rightsChecker) mayForward(arn string) (finding.Ref, bool) {
	owners := r.ownersOfTargetGroup(arn)
	g := r.targetGroup(arn)
	parts, ok := naming.GatewayTargetGroupPartsOf(g.ResourceID)
	bound := false
	for _, b := range r.liveStack.Bindings {
		// A tenant can create a binding with the labels of the stack. So a binding is used only if the id of the target
		// group matches its Service.
		if b.ARN != arn || ok && !slices.Contains(parts.Backends, finding.Ref{Namespace: b.Namespace, Name: b.Service.Service}) {
			continue
		}
		bound = true
		to := finding.Ref{Kind: serviceBackend, Namespace: b.Namespace, Name: b.Service.Service}
		if !r.permitsReference(owners, "", to) {
			return to, false
		}
	}
	if bound || !ok {
		return finding.Ref{}, true
	}
	kind, group := serviceBackend, ""
	if g.Type == model.ALBTargets {
		kind, group = gatewayBackend, gwv1.GroupName
		parts.Backends = r.gatewaysOfTarget(arn, parts.Backends)
	}
	var first finding.Ref
	for _, to := range parts.Backends {
		to.Kind = kind
		if r.permitsReference(owners, group, to) {
			return finding.Ref{}, true
		}
		first = cmp.Or(first, to)
	}
	return first, len(parts.Backends) == 0
}

// gatewaysOfTarget returns those of the Gateways whose load balancer is a target of the target group with ARN group. If
// there are none, it returns all of the Gateways. If the targets are not known yet, it returns all of the Gateways and adds
// a question about the targets.
func (r *rightsChecker) gatewaysOfTarget(group string, of []finding.Ref) []finding.Ref {
	targets, asked := r.liveStack.Facts.ALBTargets[group]
	if len(of) < 2 {
		return of
	}
	if !asked {
		r.questions = append(r.questions, model.AskALBTargets{ARN: group})
		return of
	}
	out := slices.DeleteFunc(slices.Clone(of), func(ref finding.Ref) bool {
		gw, ok := cluster.Get[*gwv1.Gateway](r.view, cluster.KindGateway, ref.Namespace, ref.Name)
		return !ok || !slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == albARN(gw) })
	})
	if len(out) == 0 {
		return of
	}
	return out
}

// permitsReference reports whether one of the owners, which are routes, may refer to an object. It is true if there are no
// owners.
func (r *rightsChecker) permitsReference(owners []finding.Ref, group string, to finding.Ref) bool {
	return len(owners) == 0 || slices.ContainsFunc(owners, func(o finding.Ref) bool {
		return r.attached.Grants.Permits(attach.Referrer{Group: gwv1.GroupName, Kind: o.Kind, Namespace: o.Namespace},
			attach.Referent{Group: group, Kind: to.Kind, Namespace: to.Namespace, Name: to.Name})
	})
}

// checkCertificates withdraws the certificates of an existing listener that were imported from Secrets and are no longer
// permitted.
func (r *rightsChecker) checkCertificates(l *observed.Listener) {
	if !r.grantsKnown || !r.listenersKnown {
		return
	}
	for _, c := range r.liveStack.Facts.OwnCertificates {
		if c.ImportedIdentity == nil || !l.HasCertificate(c.ARN) || r.mayPresent(l.Port, c.ResourceID, c.Domains) {
			continue
		}
		namespace, _ := naming.NamespaceOfImport(c.ResourceID)
		r.withdrawn.Certificates[model.ListenerCertificate{Port: l.Port, ARN: c.ARN}] = model.Withdrawal{
			Object: r.gateway, Field: "spec.listeners", Reason: finding.ReferenceNotPermitted,
			Message: fmt.Sprintf("no ReferenceGrant in namespace %q permits the Secret whose certificate port %d presents", namespace, l.Port),
			Fix:     "create a ReferenceGrant in that namespace, from kind Gateway (or ListenerSet, if its listener names the Secret) to kind Secret",
		}
	}
}

// mayPresent reports whether a listener of a port may use the imported certificate with the given resource id and domains. A
// certificate that no listener names any more can be held for listeners whose hostname it covers.
func (r *rightsChecker) mayPresent(port int32, id string, domains []string) bool {
	for i := range r.attached.Listeners {
		l := &r.attached.Listeners[i]
		if l.IsValid() && int32(l.Spec.Port) == port && slices.ContainsFunc(l.Certificates, func(s attach.SecretRef) bool {
			return naming.ImportedCertificateID(s.Namespace, s.Name) == id
		}) {
			return true
		}
	}
	namespace, ok := naming.NamespaceOfImport(id)
	if !ok {
		return true
	}
	_, name, _ := strings.Cut(strings.TrimPrefix(id, naming.ImportedCertificateID(namespace, "")), "/")
	return r.attached.MayUseSecret(port, attach.SecretRef{Namespace: namespace, Name: name}, domains)
}
