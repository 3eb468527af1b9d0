package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// requestUnserved explains why no rule names the host of a request.
type requestUnserved struct {
	Host string `json:"host"`
	// Scheme is the scheme of the request: http or https.
	Scheme string `json:"scheme"`
	// Port is the port of the request.
	Port int32 `json:"port"`
	// Why is the reason why no rule names the host.
	Why string `json:"why"`
	// Objects are the objects that name the host, but have no rule for it on the port.
	Objects []unservedObject `json:"objects"`
}

// unservedObject is an object that names the host of a request, but has no rule for it on the port.
type unservedObject struct {
	Object output.Object `json:"object"`
	// Field is the field that names the host.
	Field string `json:"field"`
	// Why is the reason why the object is not served for the host, and what to do.
	Why string `json:"why"`
}

// maxUnservedObjects is the maximum number of objects that a document lists for a host. Many objects may have a pattern
// such as *.example.com.
const maxUnservedObjects = 20

// explainUnservedHost returns the reason why no rule names the host of the request. It returns nil if something names the
// host, such as a rule, the DNS name of a load balancer or an annotation.
func (a *answerCollector) explainUnservedHost() *requestUnserved {
	if a.byDNSName != nil || slices.ContainsFunc(a.answers, func(x requestAnswer) bool { return x.Named != "" }) {
		return nil
	}
	out := &requestUnserved{Host: finding.EscapeNonPrintable(a.Host), Scheme: a.scheme, Port: a.port, Objects: []unservedObject{}}
	more := 0
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindGateway, cluster.KindListenerSet, cluster.KindHTTPRoute, cluster.KindGRPCRoute, cluster.KindService} {
		for _, obj := range a.store.All(kind) {
			field := a.fieldOfHost(obj)
			if field == "" {
				continue
			}
			if len(out.Objects) == maxUnservedObjects {
				more++
				continue
			}
			out.Objects = append(out.Objects, unservedObject{
				Object: output.Object(cluster.RefOf(obj)), Field: finding.EscapeNonPrintable(field), Why: finding.EscapeNonPrintable(a.unservedReason(obj)),
			})
		}
	}
	switch n := len(out.Objects) + more; n {
	case 0:
		out.Why = "none of the objects that were read names the host"
	case 1:
		out.Why = "one object names the host, but no load balancer in the scope of this command has such a rule"
	default:
		out.Why = fmt.Sprintf("%d objects name the host, but no load balancer in the scope of this command has such a rule", n)
	}
	return out
}

// fieldOfHost returns the field of an object that names the host of the request, or "" if no field does.
func (a *answerCollector) fieldOfHost(obj cluster.Object) string {
	var hosts []string
	field := "spec.hostnames[%d]"
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		field = "spec.rules[%d].host"
		for _, r := range o.Spec.Rules {
			hosts = append(hosts, r.Host)
		}
	case *gwv1.Gateway:
		field = "spec.listeners[%d].hostname"
		for _, l := range o.Spec.Listeners {
			hosts = append(hosts, string(ptr.Deref(l.Hostname, "")))
		}
	case *gwv1.ListenerSet:
		field = "spec.listeners[%d].hostname"
		for _, l := range o.Spec.Listeners {
			hosts = append(hosts, string(ptr.Deref(l.Hostname, "")))
		}
	case *gwv1.HTTPRoute:
		hosts = hostnameTexts(o.Spec.Hostnames)
	case *gwv1.GRPCRoute:
		hosts = hostnameTexts(o.Spec.Hostnames)
	}
	for i, h := range hosts {
		if h != "" && matchingHostPattern(model.Rule{Conditions: []model.Condition{model.HostHeader{Values: []string{h}}}}, a.Request) != "" {
			return fmt.Sprintf(field, i)
		}
	}
	if key := annotationWithHost(obj, a.Host); key != "" {
		return "annotation " + key
	}
	return ""
}

func hostnameTexts(hosts []gwv1.Hostname) (out []string) {
	for _, h := range hosts {
		out = append(out, string(h))
	}
	return out
}

// unservedReason returns why no rule is served for the host that an object names, and what to do.
func (a *answerCollector) unservedReason(obj cluster.Object) string {
	if why := input.ReasonIfUnserved(a.Source, a.store, obj); why != "" {
		return why
	}
	ref := cluster.RefOf(obj)
	errorOf := func(d engine.Draft, minReach finding.Reach) string {
		if i := slices.IndexFunc(d.Findings, func(f finding.Finding) bool {
			return f.Object == ref && f.Severity == finding.Error && f.Blocks >= minReach
		}); i >= 0 {
			return d.Findings[i].TextWithField()
		}
		return ""
	}
	for _, d := range a.drafts { // of all stacks, because an object that is held is not among the members
		if message := errorOf(d, finding.BlocksListener); message != "" {
			return message
		}
	}
	members := []finding.Ref{ref} // a route is served by the load balancers of its Gateways
	parents, _ := cluster.RouteParents(obj)
	for _, p := range parents {
		members = append(members, cluster.ParentRef(obj.GetNamespace(), p))
	}
	for _, d := range a.drafts {
		if !slices.ContainsFunc(d.Stack.Members, func(m model.Member) bool { return slices.Contains(members, m.Ref) }) {
			continue
		}
		ports := listenerPorts(d)
		switch {
		case len(ports) == 0:
			return "its load balancer has no listener; \"fulcrum explain\" about the object explains why"
		case !slices.ContainsFunc(ports, func(p string) bool { return strings.HasSuffix(p, fmt.Sprintf(":%d", a.port)) }):
			return fmt.Sprintf("its load balancer listens on %s; use another URL, or have it listen on port %d too", strings.Join(ports, ", "), a.port)
		}
		return cmp.Or(errorOf(d, finding.BlocksNothing), "its load balancer has no rule for the host on this port for this protocol; \"fulcrum explain\" about the object shows the rules")
	}
	return "its load balancer is not in the scope of this command; use all namespaces, or the namespace of the object with -n"
}

// listenerPorts returns the protocols and ports of the listeners of a stack, such as HTTP:80.
func listenerPorts(d engine.Draft) []string {
	var out []string
	for _, lb := range d.Choices().LoadBalancers {
		for _, l := range lb.Listeners {
			if l.Planned || l.Live != nil {
				out = append(out, fmt.Sprintf("%s:%d", l.Desired.Protocol(), l.Desired.Port))
			}
		}
	}
	return slices.Compact(out)
}

// showUnserved prints that no rule names the host, and lists the objects that name it. It prints nothing if u is nil.
// answers is the number of answers that the caller prints afterwards.
func showUnserved(w io.Writer, u *requestUnserved, answers int) {
	if u == nil {
		return
	}
	fmt.Fprintf(w, "\nNo rule for %s on port %d names host %q: %s.\n", u.Scheme, u.Port, u.Host, u.Why)
	for _, o := range u.Objects {
		fmt.Fprintf(w, "  %s %s: %s\n", finding.Ref(o.Object), o.Field, o.Why)
	}
	if answers > 0 {
		fmt.Fprintln(w, "If DNS resolves the host to one of these load balancers, this load balancer answers:")
	}
}
