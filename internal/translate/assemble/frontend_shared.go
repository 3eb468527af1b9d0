package assemble

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Members of several namespaces can share a frontend NLB and the ports of the ALB to which it forwards. One namespace
// alone must not change a setting for the others: the value in AWS changes only if each namespace that uses the frontend
// NLB sets this setting. If they set different values, members.MergeSetting chooses one as for other settings.

// requireAllNamespaces returns a function like get, which returns the setting of a member. The function omits values
// that would change the value in AWS for a namespace that does not set the setting, and requireAllNamespaces reports
// these values. affects reports whether a value changes anything for a member that does not set the setting. what is the
// setting in messages.
func requireAllNamespaces[T any](b *Builder, among []*members.Member, what string, get func(*members.Member) settings.Opt[T], live func() members.LiveValue[T], affects func(*members.Member, T) bool) func(*members.Member) settings.Opt[T] {
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
	setBy := map[string]bool{} // namespaces that set the setting
	for _, m := range among {
		setBy[m.Ref.Namespace] = setBy[m.Ref.Namespace] || get(m).IsPresent()
	}
	ignored := map[*members.Member]bool{}
	for _, m := range among {
		o := get(m)
		if !o.Set || now.Matches(o.Value) {
			continue
		}
		at := slices.IndexFunc(among, func(x *members.Member) bool { return !setBy[x.Ref.Namespace] && affects(x, o.Value) })
		if at < 0 {
			continue
		}
		ignored[m] = true
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldForObject(m.Ref, o.Origin), Reason: finding.AnnotationConflict, Severity: finding.Error,
			Message: fmt.Sprintf("%s %q has no effect, because %s of another namespace shares the load balancer and does not set this setting; the value in AWS stays unchanged", what, finding.TruncateValue(fmt.Sprint(o.Value)), among[at].Ref),
			Fix:     "remove the setting, or set it on members of each namespace",
		})
	}
	return func(m *members.Member) settings.Opt[T] {
		if ignored[m] {
			return settings.Opt[T]{}
		}
		return get(m)
	}
}

// sharedByNamespaces reports whether the members belong to several namespaces.
func sharedByNamespaces(all []*members.Member) bool {
	return slices.ContainsFunc(all, func(m *members.Member) bool { return m.Ref.Namespace != all[0].Ref.Namespace })
}

// affectsFrontend is an argument of requireAllNamespaces. It reports whether a setting of the frontend NLB affects a
// member, which is so if the member enables the frontend NLB.
func affectsFrontend[T any](m *members.Member, _ T) bool { return m.Set.FrontendNLB.Value }

// mergeFrontend merges a load-balancer-wide setting of the frontend NLB.
func mergeFrontend[T any](b *Builder, name string, get func(*members.Member) settings.Opt[T], same func(a, b T) bool, live func() members.LiveValue[T]) members.MergedSetting[T] {
	return members.MergeSetting(&b.Translation, b.Members, b.settingName(name), requireAllNamespaces(b, b.Members, b.settingName(name), get, live, affectsFrontend), same, live)
}

// frontendScheme returns the scheme of the frontend NLB. The frontend NLB of an internal ALB is internet-facing only if
// each namespace that uses the ALB sets this, or if the frontend NLB is already internet-facing.
func (b frontendBuilder) frontendScheme(alb *model.LoadBalancer) settings.Opt[model.Scheme] {
	frontend, internal := b.LiveFrontendNLB(), alb.Scheme == model.Internal
	if lb := b.LiveLoadBalancer(); lb != nil {
		internal = lb.Scheme == model.Internal
	}
	live := func() members.LiveValue[model.Scheme] {
		switch {
		case frontend != nil:
			return members.LiveValueOf(frontend.Scheme, true, members.Equal[model.Scheme])
		case internal:
			return members.LiveValueOf(model.Internal, true, members.Equal[model.Scheme])
		}
		return members.LiveValue[model.Scheme]{}
	}
	const name = "frontend-nlb-scheme"
	get := requireAllNamespaces(b.Builder, b.Members, b.settingName(name), func(m *members.Member) settings.Opt[model.Scheme] { return m.Set.FrontendScheme }, live,
		func(m *members.Member, asked model.Scheme) bool {
			return m.Set.FrontendNLB.Value || internal && asked == model.InternetFacing
		})
	won := members.MergeSetting(&b.Translation, b.Members, b.settingName(name), get, members.Equal[model.Scheme], live).Opt
	if !won.Set && frontend == nil && internal && sharedByNamespaces(b.Members) {
		won = settings.Opt[model.Scheme]{Value: model.Internal, Set: true} // not the default of the controller, which may be internet-facing
	}
	return won
}

// mergeFrontendHealth merges a setting of the health check for one port of the frontend NLB.
func mergeFrontendHealth[T comparable](b *Builder, at *members.Port, key string, get func(settings.FrontendHealthCheck) settings.Opt[T], live func(model.HealthCheck) T) members.MergedSetting[T] {
	current := func() members.LiveValue[T] {
		g := frontendBuilder{b}.liveFrontendTargetGroup(at.Number)
		if g == nil {
			return members.LiveValue[T]{}
		}
		return members.LiveValueOf(live(g.HealthCheck), true, members.Equal[T])
	}
	asked := requireAllNamespaces(b, at.Members, fmt.Sprintf("%s on port %d", b.settingName(key), at.Number), func(m *members.Member) settings.Opt[T] { return get(m.Set.FrontendHealth) }, current, affectsFrontend)
	return members.MergePortSetting(&b.Translation, at, b.settingName(key), asked, members.Equal[T], current)
}
