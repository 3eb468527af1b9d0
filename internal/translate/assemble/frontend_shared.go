package assemble

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Members of several namespaces share a frontend NLB, and the ports of the ALB that it leads to. What none of them names
// stays as it is live: a member changes it only where each other namespace that asks for the frontend NLB says something of
// the setting as well. Disagreement is resolved as for other settings (members.Agree).

// withoutContested returns what members say of a setting, without the values that would change what namespaces rely on
// that say nothing of it. affects reports whether a value changes something for a member that is silent.
func withoutContested[T any](b *Builder, among []*members.Member, what string, get func(*members.Member) settings.Opt[T], live func() members.LiveValue[T], affects func(*members.Member, T) bool) func(*members.Member) settings.Opt[T] {
	if b.Isolated || !slices.ContainsFunc(among, func(m *members.Member) bool { return get(m).Set }) ||
		!sharedByNamespaces(among) {
		return get
	}
	b.Stack.Contested = true
	if b.Live == nil {
		return get
	}
	now := live()
	if !now.Known {
		return get
	}
	spoken := map[string]bool{} // namespaces that say something
	for _, m := range among {
		spoken[m.Ref.Namespace] = spoken[m.Ref.Namespace] || get(m).Present()
	}
	left := map[*members.Member]bool{}
	for _, m := range among {
		o := get(m)
		if !o.Set || now.Matches(o.Value) {
			continue
		}
		at := slices.IndexFunc(among, func(x *members.Member) bool { return !spoken[x.Ref.Namespace] && affects(x, o.Value) })
		if at < 0 {
			continue
		}
		left[m] = true
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldOn(m.Ref, o.Origin), Reason: finding.AnnotationConflict, Severity: finding.Error,
			Message: fmt.Sprintf("%s %q has no effect, because %s of another namespace shares the load balancer and does not ask for it; what is live stays", what, finding.Cut(fmt.Sprint(o.Value)), among[at].Ref),
			Fix:     "remove it, or set it on members of each namespace",
		})
	}
	return func(m *members.Member) settings.Opt[T] {
		if left[m] {
			return settings.Opt[T]{}
		}
		return get(m)
	}
}

// sharedByNamespaces reports whether members are of several namespaces.
func sharedByNamespaces(all []*members.Member) bool {
	return slices.ContainsFunc(all, func(m *members.Member) bool { return m.Ref.Namespace != all[0].Ref.Namespace })
}

// affectsFrontend is for settings that change the frontend NLB of those who ask for it.
func affectsFrontend[T any](m *members.Member, _ T) bool { return m.Set.FrontendNLB.Value }

// mergeFrontend merges a load-balancer-wide setting of the frontend NLB.
func mergeFrontend[T any](b *Builder, name string, get func(*members.Member) settings.Opt[T], same func(a, b T) bool, live func() members.LiveValue[T]) members.Merged[T] {
	return members.Agree(&b.Translation, b.Members, b.name(name), withoutContested(b, b.Members, b.name(name), get, live, affectsFrontend), same, live)
}

// frontendScheme returns the scheme of the frontend NLB. One in front of an internal ALB opens it to the internet only
// where each namespace on the ALB asks for that, or where that is live.
func (b frontendBuilder) frontendScheme(alb *model.LoadBalancer) settings.Opt[model.Scheme] {
	front, internal := b.LiveFrontend(), alb.Scheme == model.Internal
	if lb := b.LiveLoadBalancer(); lb != nil {
		internal = lb.Scheme == model.Internal
	}
	live := func() members.LiveValue[model.Scheme] {
		switch {
		case front != nil:
			return members.LiveValueOf(front.Scheme, true, members.Equal[model.Scheme])
		case internal:
			return members.LiveValueOf(model.Internal, true, members.Equal[model.Scheme])
		}
		return members.LiveValue[model.Scheme]{}
	}
	const name = "frontend-nlb-scheme"
	get := withoutContested(b.Builder, b.Members, b.name(name), func(m *members.Member) settings.Opt[model.Scheme] { return m.Set.FrontendScheme }, live,
		func(m *members.Member, asked model.Scheme) bool {
			return m.Set.FrontendNLB.Value || internal && asked == model.InternetFacing
		})
	won := members.Agree(&b.Translation, b.Members, b.name(name), get, members.Equal[model.Scheme], live).Opt
	if !won.Set && front == nil && internal && sharedByNamespaces(b.Members) {
		won = settings.Opt[model.Scheme]{Value: model.Internal, Set: true} // whatever the default of the controller is
	}
	return won
}

// agreeFrontendHealth merges a setting of the health checks of one port of the frontend NLB.
func agreeFrontendHealth[T comparable](b *Builder, at *members.Port, key string, get func(settings.FrontendHealth) settings.Opt[T], live func(model.HealthCheck) T) members.Merged[T] {
	incumbent := func() members.LiveValue[T] {
		check, known := frontendBuilder{b}.liveFrontendCheck(at.Number)
		return members.LiveValueOf(live(check), known, members.Equal[T])
	}
	asked := withoutContested(b, at.Members, fmt.Sprintf("%s on port %d", b.name(key), at.Number), func(m *members.Member) settings.Opt[T] { return get(m.Set.FrontendHealth) }, incumbent, affectsFrontend)
	return members.AgreeOn(&b.Translation, at, b.name(key), asked, members.Equal[T], incumbent)
}
