package cluster

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
)

// fillGatewayDefaults is fillDefaults for the kinds of the Gateway API. It sets the defaults of their CRDs.
func fillGatewayDefaults(obj Object) {
	switch o := obj.(type) {
	case *gwv1.Gateway:
		for i := range o.Spec.Listeners {
			l := &o.Spec.Listeners[i]
			setListenerDefaults(&l.AllowedRoutes, l.TLS)
		}
	case *gwv1.ListenerSet:
		for i := range o.Spec.Listeners {
			l := &o.Spec.Listeners[i]
			setListenerDefaults(&l.AllowedRoutes, l.TLS)
		}
	case *gwv1.HTTPRoute:
		setHTTPRuleDefaults(o)
	case *gwconfig.LoadBalancerConfiguration:
		if o.Spec.ListenerConfigurations != nil {
			for i := range *o.Spec.ListenerConfigurations {
				setDefault(&(*o.Spec.ListenerConfigurations)[i].ALPNPolicy, "None")
			}
		}
	case *gwconfig.TargetGroupConfiguration:
		if r := o.Spec.TargetReference; r != nil {
			setDefault(&r.Group, "")
			setDefault(&r.Kind, KindService)
		}
	case *gwconfig.ListenerRuleConfiguration:
		for i := range o.Spec.Actions {
			setActionDefaults(&o.Spec.Actions[i])
		}
	}
	parents, _ := RouteParents(obj)
	for i := range parents {
		setDefault(&parents[i].Group, gwv1.GroupName)
		setDefault(&parents[i].Kind, gwv1.Kind(KindGateway))
	}
	fillGatewayStatus(obj)
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setListenerDefaults(routes **gwv1.AllowedRoutes, tls *gwv1.ListenerTLSConfig) {
	setDefault(routes, gwv1.AllowedRoutes{})
	setDefault(&(*routes).Namespaces, gwv1.RouteNamespaces{})
	setDefault(&(*routes).Namespaces.From, gwv1.NamespacesFromSame)
	for i := range (*routes).Kinds {
		setDefault(&(*routes).Kinds[i].Group, gwv1.GroupName)
	}
	if tls == nil {
		return
	}
	setDefault(&tls.Mode, gwv1.TLSModeTerminate)
	for i := range tls.CertificateRefs {
		setDefault(&tls.CertificateRefs[i].Group, "")
		setDefault(&tls.CertificateRefs[i].Kind, gwv1.Kind(KindSecret))
	}
}

func setHTTPRuleDefaults(o *gwv1.HTTPRoute) {
	if o.Spec.Rules == nil {
		o.Spec.Rules = []gwv1.HTTPRouteRule{{}}
	}
	for i := range o.Spec.Rules {
		r := &o.Spec.Rules[i]
		if r.Matches == nil {
			r.Matches = []gwv1.HTTPRouteMatch{{}}
		}
		for j := range r.Matches {
			m := &r.Matches[j]
			setDefault(&m.Path, gwv1.HTTPPathMatch{})
			setDefault(&m.Path.Type, gwv1.PathMatchPathPrefix)
			setDefault(&m.Path.Value, "/")
		}
		for j := range r.Filters {
			if redirect := r.Filters[j].RequestRedirect; redirect != nil {
				setDefault(&redirect.StatusCode, 302)
			}
		}
	}
}

func setActionDefaults(a *gwconfig.Action) {
	if c := a.ForwardConfig; c != nil {
		setDefault(&c.TargetGroupStickinessConfig, gwconfig.TargetGroupStickinessConfig{})
		setDefault(&c.TargetGroupStickinessConfig.DurationSeconds, 3600)
		setDefault(&c.TargetGroupStickinessConfig.Enabled, false)
	}
	if c := a.RedirectConfig; c != nil {
		setDefault(&c.Query, "#{query}")
	}
	if c := a.FixedResponseConfig; c != nil {
		setDefault(&c.ContentType, "text/plain")
	}
	const scope, cookie, seconds = "openid", "AWSELBAuthSessionCookie", 604800
	if c := a.AuthenticateCognitoConfig; c != nil {
		setDefault(&c.OnUnauthenticatedRequest, "authenticate")
		setDefault(&c.Scope, scope)
		setDefault(&c.SessionCookieName, cookie)
		setDefault(&c.SessionTimeout, seconds)
	}
	if c := a.AuthenticateOIDCConfig; c != nil {
		setDefault(&c.OnUnauthenticatedRequest, "authenticate")
		setDefault(&c.Scope, scope)
		setDefault(&c.SessionCookieName, cookie)
		setDefault(&c.SessionTimeout, seconds)
	}
}
