package dataplane

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// route contains the configuration with which a node handles requests at one address and port. It is immutable; a change of
// the configuration replaces it.
type route struct {
	lb           *lbView
	listener     *listenerView
	node         netip.Addr     // IPv4 address of the node
	address      netip.AddrPort // address to which clients connect
	zone         string
	targetGroups map[string]*targetGroup
}

type lbView struct {
	arn       string
	isNetwork bool
	attr      lbAttributes
}

type listenerView struct {
	arn       string
	port      uint16
	protocol  Protocol
	attr      listenerAttributes
	tls       *tls.Config // nil without TLS
	mutualTLS *MutualTLS
	rules     []ruleView // the default rule last
	// forward is the default action of a listener of a Network Load Balancer, which has no rules.
	forward Forward
	// maxTargetTLSVersion is the highest TLS version towards targets of a Network Load Balancer.
	maxTargetTLSVersion uint16
}

type ruleView struct {
	arn            string
	matcher        *Matcher
	authenticators []Authenticator
	action         Action
	transforms     []rewrite
}

// compile converts the configuration into routes by address and port of a node. Listeners and rules that are invalid are
// omitted; the errors describe them.
func (p *Plane) compile(cfg Config) (map[netip.AddrPort]*route, []error) {
	var errs []error
	routes := map[netip.AddrPort]*route{}
	groups := maps.Clone(p.targetGroups)
	for _, lb := range cfg.LoadBalancers {
		attr, attrErrs := parseLBAttributes("load balancer "+lb.ARN, lb)
		errs = append(errs, attrErrs...)
		lbv := &lbView{arn: lb.ARN, isNetwork: lb.IsNetwork, attr: attr}
		compileOne := compileListener
		if lb.IsNetwork {
			compileOne = compileNetworkListener
		}
		for _, l := range lb.Listeners {
			lv, listenerErrs := compileOne(l, attr)
			errs = append(errs, listenerErrs...)
			if lv == nil {
				continue
			}
			for _, n := range lb.Nodes {
				for _, a := range n.addresses(lb.IsNetwork) {
					at := netip.AddrPortFrom(a, l.Port)
					if other, taken := routes[at]; taken {
						errs = append(errs, fmt.Errorf("listener %s: %s is already served by %s", l.ARN, at, other.listener.arn))
						continue
					}
					routes[at] = &route{lb: lbv, listener: lv, node: n.Address, address: at, zone: n.Zone, targetGroups: groups}
				}
			}
		}
	}
	return routes, errs
}

// addresses returns the addresses at which clients reach the node. network reports whether it belongs to a Network Load
// Balancer.
func (n Node) addresses(network bool) []netip.Addr {
	if network && n.IPv6.IsValid() {
		return []netip.Addr{n.Address, n.IPv6}
	}
	return []netip.Addr{n.Address}
}

// compileListener converts a listener of an Application Load Balancer. It returns nil if the configuration of the listener
// is invalid. Invalid rules are omitted; the errors describe them.
func compileListener(l Listener, lb lbAttributes) (*listenerView, []error) {
	of := "listener " + l.ARN
	attr, errs := parseListenerAttributes(of, l.Attributes)
	lv := &listenerView{arn: l.ARN, port: l.Port, protocol: l.Protocol, attr: attr, mutualTLS: l.MutualTLS}
	switch l.Protocol {
	case HTTP:
	case HTTPS:
		cfg, err := tlsConfig(l, lb)
		if err != nil {
			return nil, append(errs, fmt.Errorf("%s: %w", of, err))
		}
		lv.tls = cfg
	default:
		return nil, append(errs, fmt.Errorf("%s: protocol %q is not supported by the data plane", of, l.Protocol))
	}
	rules := slices.Clone(l.Rules)
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	last := l.DefaultRule
	last.Conditions = nil
	for _, r := range append(rules, last) {
		rv, err := compileRule(r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: rule %s: %w", of, r.ARN, err))
			continue
		}
		lv.rules = append(lv.rules, rv)
	}
	return lv, errs
}

func compileRule(r Rule) (ruleView, error) {
	m, err := Compile(r.Conditions)
	if err != nil {
		return ruleView{}, err
	}
	t, err := compileTransforms(r.Transforms)
	if err != nil {
		return ruleView{}, err
	}
	switch r.Action.(type) {
	case Forward, Redirect, FixedResponse:
	default:
		return ruleView{}, fmt.Errorf("rule action %T is not supported", r.Action)
	}
	for _, a := range r.Authenticators {
		switch a.(type) {
		case OIDC, Cognito, JWTValidation:
		default:
			return ruleView{}, fmt.Errorf("authenticator %T is not supported", a)
		}
	}
	return ruleView{arn: r.ARN, matcher: m, authenticators: r.Authenticators, action: r.Action, transforms: t}, nil
}

// leafCertificate returns the parsed leaf certificate of a key pair.
func leafCertificate(c *tls.Certificate) (*x509.Certificate, error) {
	if c.Leaf != nil {
		return c.Leaf, nil
	}
	if len(c.Certificate) == 0 {
		return nil, fmt.Errorf("the certificate is empty")
	}
	return x509.ParseCertificate(c.Certificate[0])
}
