package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// Options are what a translation depends on besides the objects.
type Options struct {
	// Ingress and Gateway are the frontends of the controller, and Network that of Gateways with a network load balancer; nil
	// where it serves none.
	Ingress, Gateway, Network engine.Frontend
	// DefaultTags and DefaultSSLPolicy are those of the controller's flags, which it adds to what objects say.
	DefaultTags      map[string]string
	DefaultSSLPolicy string
	// SecretLabels are the labels that the controller demands of Secrets.
	SecretLabels map[string]string
	// Selected reports whether a load balancer with these members is to be translated, and why not although it was asked
	// for; nil: all are.
	Selected func(id model.StackID, members []finding.Ref) (selected bool, fault string)
	// ImportSecrets and ImportForGateways say that the controller imports certificates of TLS Secrets for Ingresses, and for
	// Gateways.
	ImportSecrets, ImportForGateways bool
	// Manifests reports that the store has what files have: what it lacks may exist.
	Manifests bool
	// Live makes Gateways that are carried out. Without it they have the annotation gateway.k8s.aws/dry-run.
	Live bool
	// InPlace makes Gateways that take over the load balancers of the Ingresses, by the annotation fulcrum.dev/adopt.
	InPlace bool
}

// Result is what Ingresses become.
type Result struct {
	// Classes are the GatewayClasses of the Gateways.
	Classes []*gwv1.GatewayClass
	// Groups are the load balancers, by their ids.
	Groups []Group
	// Targets are the TargetGroupConfigurations, which load balancers share.
	Targets []Object
	// Others are Ingresses that another controller serves.
	Others []finding.Ref
	// Deleted are Ingresses that are being deleted.
	Deleted []finding.Ref
}

// Group is one load balancer: an IngressGroup, or an Ingress by itself.
type Group struct {
	ID      model.StackID
	Members []finding.Ref
	// Gateway is the one that takes its place; zero where nothing can be translated.
	Gateway finding.Ref
	// Frontend is the Gateway that takes the place of the frontend NLB; zero where there is none.
	Frontend finding.Ref
	Objects  []Object
	Notes    []Note
	// Annotations are the annotations of the members and of the Services behind them.
	Annotations []Translated
	// From is the desired state of the Ingresses.
	From model.Stack
}

// Object is an object that is made.
type Object struct {
	cluster.Object
	// From is where it comes from, and Parts where parts of it do, by their paths such as "spec.rules[0]".
	From  string
	Parts map[string]string
	// Of are the load balancers that share the object; none where it is of one alone.
	Of []model.StackID
}

// Severity is what a note is about.
type Severity int

// The severities, in rising order.
const (
	// Info is something that is kept in another way.
	Info Severity = iota
	// Differs is something that the Gateway does otherwise, or that a person has to decide about.
	Differs
	// Lost is something that has no counterpart, or could not be read.
	Lost
)

// String returns the word of documents.
func (s Severity) String() string { return [...]string{"info", "differs", "lost"}[s] }

// Note is something that is to be known about a translation.
type Note struct {
	Severity Severity
	Object   finding.Ref
	Field    string
	Message  string
	Fix      string
}

// Worst returns the highest severity among the notes of a group.
func (g Group) Worst() Severity {
	worst := Info
	for _, n := range g.Notes {
		worst = max(worst, n.Severity)
	}
	return worst
}

// Translate makes objects of the Gateway API from all Ingresses of a store that the controller serves.
func Translate(store *cluster.Memory, opt Options) (Result, error) {
	var out Result
	if err := placeholders(store, opt.SecretLabels); err != nil {
		return out, err
	}
	var assumed []finding.Ref
	if opt.Manifests {
		var err error
		if assumed, err = assumeClasses(store); err != nil {
			return out, err
		}
	}
	v := cluster.NewView(store)
	ids := map[model.StackID]bool{}
	for _, obj := range store.All(cluster.KindIngress) {
		stacks := opt.Ingress.Stacks(v, obj)
		for _, id := range stacks {
			ids[id] = true
		}
		switch {
		case obj.GetDeletionTimestamp() != nil:
			out.Deleted = append(out.Deleted, refOf(obj))
		case len(stacks) == 0:
			out.Others = append(out.Others, refOf(obj))
		}
	}
	uses := map[finding.Ref][]use{}
	var all []*grouping
	for _, id := range slices.SortedFunc(maps.Keys(ids), model.StackID.Compare) { // IngressGroups come first
		if g := translateGroup(store, id, opt, uses); g != nil && len(g.Members)+len(g.Notes) > 0 {
			all = append(all, g)
		}
	}
	out.Targets = targetConfigurations(uses)
	for _, g := range all {
		for _, m := range g.Members {
			if slices.Contains(assumed, m) {
				g.note(Differs, m, "spec.ingressClassName", fmt.Sprintf("IngressClass %q is not among the manifests and is taken for one of the controller without parameters", *g.of[m].Spec.IngressClassName),
					"add its manifest and that of its IngressClassParams, or translate from the cluster")
			}
		}
		g.sortNotes()
		out.Groups = append(out.Groups, *g.Group)
	}
	slices.SortFunc(out.Others, finding.Ref.Compare)
	out.addGatewayClass(className, gatewayconfig.ALBController, func(g Group) finding.Ref { return g.Gateway })
	out.addGatewayClass(networkClassName, gatewayconfig.NLBController, func(g Group) finding.Ref { return g.Frontend })
	return out, nil
}

// addGatewayClass adds the GatewayClass of some Gateways, where there are any.
func (r *Result) addGatewayClass(name string, controller gwv1.GatewayController, of func(Group) finding.Ref) {
	if slices.ContainsFunc(r.Groups, func(g Group) bool { return !of(g).IsZero() }) {
		r.Classes = append(r.Classes, &gwv1.GatewayClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "GatewayClass"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       gwv1.GatewayClassSpec{ControllerName: controller},
		})
	}
}

// PortOf returns the number of the port of a Service that a binding names, as it names it where there is none.
func PortOf(store *cluster.Memory) func(*model.Binding) string {
	v := cluster.NewView(store)
	return func(b *model.Binding) string { return cluster.PortText(v, b.Namespace, b.Service, b.Port) }
}

// Objects returns all objects of the result, in the order in which they are to be applied: the class, and for each
// namespace configurations before what refers to them.
func (r Result) Objects() []Object {
	var out []Object
	for _, g := range r.Groups {
		out = append(out, g.Objects...)
	}
	out = append(out, r.Targets...)
	rank := func(o Object) int {
		return slices.Index([]string{"ReferenceGrant", "LoadBalancerConfiguration", "Gateway", "HTTPRoute", "TCPRoute", "TargetGroupConfiguration", "ListenerRuleConfiguration"}, refOf(o.Object).Kind)
	}
	slices.SortStableFunc(out, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(rank(a), rank(b)))
	})
	var classes []Object
	for _, c := range r.Classes {
		classes = append(classes, Object{Object: c})
	}
	return append(classes, out...)
}

// ObjectsOf returns the objects of one load balancer, those that it shares included.
func (r Result) ObjectsOf(g Group) []Object {
	out := slices.Clone(g.Objects)
	for _, o := range r.Targets {
		if slices.Contains(o.Of, g.ID) {
			out = append(out, o)
		}
	}
	return out
}

func refOf(obj cluster.Object) finding.Ref {
	ref := cluster.RefOf(obj)
	return finding.Ref{Kind: string(ref.Kind), Namespace: ref.Namespace, Name: ref.Name}
}

// grouping is the translation of one load balancer.
type grouping struct {
	*Group
	opt   Options
	view  *cluster.View
	lb    *model.LoadBalancer
	of    map[finding.Ref]*networkingv1.Ingress
	names map[string]bool // of routes and configurations, by kind and namespace
	// configs are the ListenerRuleConfigurations by namespace and content, uses the target groups by Service.
	configs map[string]string
	uses    map[finding.Ref][]use
}

func translateGroup(store *cluster.Memory, id model.StackID, opt Options, uses map[finding.Ref][]use) *grouping {
	g := &grouping{
		Group: &Group{ID: id}, opt: opt, view: cluster.NewView(store), of: map[finding.Ref]*networkingv1.Ingress{},
		names: map[string]bool{}, configs: map[string]string{}, uses: uses,
	}
	stack, found := opt.Ingress.Translate(g.view, id, nil)
	g.From, g.lb = stack, stack.LoadBalancer
	selected, fault := g.selected(found)
	switch {
	case !selected:
		return nil
	case fault != "":
		g.note(Lost, finding.Ref{}, "", fault, "")
		return g
	}
	for _, f := range found {
		n := Note{Info, f.Object, f.Field, f.Message, f.Fix}
		switch {
		case opt.Manifests && f.Reason == finding.BackendNotFound:
			n.Severity, n.Fix = Lost, "add the manifest of the Service, or translate from the cluster"
		case f.Severity == finding.Error:
			n.Severity = Lost
		}
		g.Notes = append(g.Notes, n)
	}
	if len(g.Members) == 0 || g.lb == nil {
		return g
	}
	if stack.Held.Everything {
		g.note(Lost, finding.Ref{}, "", "the load balancer is held as a whole, so nothing of it is translated", "correct what the other notes name")
		return g
	}
	g.build()
	return g
}

// selected finds the members, and reports whether the load balancer is to be translated. One that is not accepted is no
// member, and is known by what was found about it.
func (g *grouping) selected(found finding.List) (selected bool, fault string) {
	for _, m := range g.From.Members {
		if ing, ok := cluster.Get[*networkingv1.Ingress](g.view, cluster.KindIngress, m.Ref.Namespace, m.Ref.Name); ok {
			g.Members, g.of[m.Ref] = append(g.Members, m.Ref), ing
		}
	}
	if g.opt.Selected == nil {
		return true, ""
	}
	of := slices.Clone(g.Members)
	for _, f := range found {
		if f.Object.Kind == "Ingress" && !slices.Contains(of, f.Object) {
			of = append(of, f.Object)
		}
	}
	return g.opt.Selected(g.ID, of)
}

func (g *grouping) sortNotes() {
	slices.SortStableFunc(g.Notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), a.Object.Compare(b.Object), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	g.Notes = slices.Compact(g.Notes)
}

func (g *grouping) note(severity Severity, of finding.Ref, field, message, fix string) {
	g.Notes = append(g.Notes, Note{severity, of, field, message, fix})
}

// base returns what names of the whole load balancer begin with, space the namespace in them.
func (g *grouping) base() (space, base string) {
	if g.ID.Namespace == "" {
		return "", g.ID.Name
	}
	return g.ID.Namespace, g.ID.Name
}

// origin returns the value of the tag for all that comes from the load balancer.
func (g *grouping) origin() string {
	if g.ID.Namespace == "" {
		return "ingress-group/" + g.ID.Name
	}
	return "ingress/" + g.ID.String()
}

func originOf(ref finding.Ref) string { return "ingress/" + ref.Namespace + "/" + ref.Name }

// unique returns a name that no other object of the kind has: the first one that is free.
func (g *grouping) unique(kind, namespace string, candidates ...string) string {
	for _, c := range candidates {
		if key := kind + " " + namespace + "/" + c; !g.names[key] {
			g.names[key] = true
			return c
		}
	}
	return candidates[len(candidates)-1]
}

// tagsOf returns tags as objects have them: without those that the controller adds to all, with that of the origin.
func (g *grouping) tagsOf(tags map[string]string, origin string) *map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if g.opt.DefaultTags[k] != v {
			out[k] = v
		}
	}
	const mostInTag = 256
	out[naming.OriginTag] = origin[:min(len(origin), mostInTag)]
	return &out
}

// namespaces returns the namespaces of the members, in group order.
func (g *grouping) namespaces() []string {
	var out []string
	for _, m := range g.Members {
		if !slices.Contains(out, m.Namespace) {
			out = append(out, m.Namespace)
		}
	}
	return out
}
