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

// Options are the settings of a translation.
type Options struct {
	// Ingress, ALBGateway and NLBGateway translate Ingresses, Gateways with an ALB, and Gateways with a network load balancer to
	// desired states, as the controller does. They are nil for objects that the controller does not serve.
	Ingress, ALBGateway, NLBGateway engine.Frontend
	// DefaultTags and DefaultSSLPolicy are the values of the flags --default-tags and --default-ssl-policy of the
	// controller.
	DefaultTags      map[string]string
	DefaultSSLPolicy string
	// SecretLabels are the labels without which the controller does not read a Secret.
	SecretLabels map[string]string
	// IsSelected reports whether a load balancer with the given members is to be translated. fault is the reason why a
	// selected load balancer cannot be translated; "" if it can. If IsSelected is nil, all load balancers are selected.
	IsSelected func(id model.StackID, members []finding.Ref) (selected bool, fault string)
	// ImportSecrets and ImportForGateways report whether the controller imports certificates from TLS Secrets for Ingresses,
	// and for Gateways.
	ImportSecrets, ImportForGateways bool
	// FromManifests reports whether the objects come from files. The files may refer to objects that only the cluster has.
	FromManifests bool
	// WithoutDryRun omits the annotation gateway.k8s.aws/dry-run, so that the controller creates the load balancers.
	WithoutDryRun bool
	// InPlace adds the annotation fulcrum.dev/adopt, so that Gateways take over the load balancers of the Ingresses.
	InPlace bool
}

// Result is the result of a translation.
type Result struct {
	// classes are the GatewayClasses that the Gateways use.
	classes []Object
	// IngressGroups are the translations of all load balancers, sorted by ID.
	IngressGroups []IngressGroup
	// TargetConfigurations are the TargetGroupConfigurations of Services. Several load balancers can share one.
	TargetConfigurations []Object
	// ServedByOthers are Ingresses that another controller serves.
	ServedByOthers []finding.Ref
	// Deleting are Ingresses that are being deleted.
	Deleting []finding.Ref
}

// IngressGroup is the translation of one load balancer: that of an IngressGroup, or of a single Ingress.
type IngressGroup struct {
	ID      model.StackID
	Members []finding.Ref
	// Gateway is the Gateway that replaces the Ingresses; zero if nothing can be translated.
	Gateway finding.Ref
	// FrontendGateway is the Gateway that replaces the frontend NLB; zero if there is none.
	FrontendGateway finding.Ref
	Objects         []Object
	Notes           []Note
	// Annotations are the annotations of the members, and of the Services to which they forward, each with its translation.
	Annotations []TranslatedAnnotation
	// IngressStack is the desired state of the Ingresses.
	IngressStack model.Stack
}

// Object is an object of the translation.
type Object struct {
	cluster.Object
	// Origin describes where the object comes from, such as "Ingress shop/web". It is written as a comment in the manifest.
	Origin string
	// PartOrigins describes where parts of the object come from, by their paths in the object, such as "spec.rules[0]".
	PartOrigins map[string]string
	// SharedBy are the load balancers that share an object of Result.TargetConfigurations; empty for the objects of an
	// IngressGroup.
	SharedBy []model.StackID
}

// Severity is how much the subject of a note affects the migration.
type Severity int

// The severities, in ascending order.
const (
	// Info is the severity of a setting that has another form in the translation, without other effects.
	Info Severity = iota
	// Differs is the severity of a difference in the behaviour of the Gateway, or of a decision that users must make.
	Differs
	// Lost is the severity of a setting that has no counterpart in the translation, or that could not be read.
	Lost
)

// String returns "info", "differs" or "lost".
func (s Severity) String() string { return [...]string{"info", "differs", "lost"}[s] }

// Note is a remark about the translation of a field of an object.
type Note struct {
	Severity Severity
	Object   finding.Ref
	Field    string
	Message  string
	Fix      string
}

// WorstSeverity returns the highest severity of the notes; Info if there are none.
func (g IngressGroup) WorstSeverity() Severity {
	worst := Info
	for _, n := range g.Notes {
		worst = max(worst, n.Severity)
	}
	return worst
}

// Translate translates all Ingresses of a store that the controller serves to objects of the Gateway API. It adds
// placeholders for missing objects and values to the store.
func Translate(store *cluster.Memory, opt Options) (Result, error) {
	var out Result
	if err := addPlaceholders(store, opt.SecretLabels); err != nil {
		return out, err
	}
	var assumed []finding.Ref
	if opt.FromManifests {
		var err error
		if assumed, err = addMissingClasses(store); err != nil {
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
			out.Deleting = append(out.Deleting, cluster.RefOf(obj))
		case len(stacks) == 0:
			out.ServedByOthers = append(out.ServedByOthers, cluster.RefOf(obj))
		}
	}
	targetUses := map[finding.Ref][]targetUse{}
	var generators []*generator
	for _, id := range slices.SortedFunc(maps.Keys(ids), model.StackID.Compare) { // IngressGroups before single Ingresses
		if g := translateIngressGroup(store, id, opt, targetUses); g != nil && len(g.Members)+len(g.Notes) > 0 {
			generators = append(generators, g)
		}
	}
	out.TargetConfigurations = targetConfigurations(targetUses)
	for _, g := range generators {
		for _, m := range g.Members {
			if slices.Contains(assumed, m) {
				g.addNote(Differs, m, "spec.ingressClassName", fmt.Sprintf("IngressClass %q is not among the manifests and is assumed to be a class of this controller without parameters", *g.ingresses[m].Spec.IngressClassName),
					"add its manifest and that of its IngressClassParams, or translate from the cluster")
			}
		}
		g.sortNotes()
		out.IngressGroups = append(out.IngressGroups, *g.IngressGroup)
	}
	slices.SortFunc(out.ServedByOthers, finding.Ref.Compare)
	out.addGatewayClass(albClassName, gatewayconfig.ALBController, func(g IngressGroup) finding.Ref { return g.Gateway })
	out.addGatewayClass(networkClassName, gatewayconfig.NLBController, func(g IngressGroup) finding.Ref { return g.FrontendGateway })
	return out, nil
}

// addGatewayClass adds the GatewayClass with the given name and controller if an IngressGroup needs it: if gatewayOf returns
// a Gateway for the IngressGroup.
func (r *Result) addGatewayClass(name string, controller gwv1.GatewayController, gatewayOf func(IngressGroup) finding.Ref) {
	if slices.ContainsFunc(r.IngressGroups, func(g IngressGroup) bool { return !gatewayOf(g).IsZero() }) {
		r.classes = append(r.classes, Object{Object: &gwv1.GatewayClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: gwv1.GroupVersion.String(), Kind: "GatewayClass"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       gwv1.GatewayClassSpec{ControllerName: controller},
		}})
	}
}

// PortOf returns a function that returns the number of the Service port of a binding. If the Service or the port is missing
// in the store, this function returns the port as the binding names it.
func PortOf(store *cluster.Memory) func(*model.Binding) string {
	v := cluster.NewView(store)
	return func(b *model.Binding) string { return cluster.ServicePortText(v, b.Namespace, b.Service, b.Port) }
}

// Objects returns all objects of the result in the order in which to apply them: the GatewayClasses, the ReferenceGrants, and
// then the other objects by namespace. Within a namespace, configurations come before Gateways, and Gateways before routes.
func (r Result) Objects() []Object {
	var out []Object
	for _, g := range r.IngressGroups {
		out = append(out, g.Objects...)
	}
	out = append(out, r.TargetConfigurations...)
	rank := func(o Object) int {
		return slices.Index([]string{"ReferenceGrant", "LoadBalancerConfiguration", "TargetGroupConfiguration", "ListenerRuleConfiguration", "Gateway", "HTTPRoute", "TCPRoute"}, string(cluster.RefOf(o.Object).Kind))
	}
	slices.SortStableFunc(out, func(a, b Object) int {
		return cmp.Or(cmp.Compare(min(rank(a), 1), min(rank(b), 1)), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(rank(a), rank(b)))
	})
	return slices.Concat(r.classes, out)
}

// ObjectsOf returns the objects of one load balancer, including the TargetGroupConfigurations that it shares with other load
// balancers.
func (r Result) ObjectsOf(g IngressGroup) []Object {
	out := slices.Clone(g.Objects)
	for _, o := range r.TargetConfigurations {
		if slices.Contains(o.SharedBy, g.ID) {
			out = append(out, o)
		}
	}
	return out
}

// generator makes the objects of one load balancer.
type generator struct {
	*IngressGroup
	opt  Options
	view *cluster.View
	lb   *model.LoadBalancer
	// ingresses are the member Ingresses by reference.
	ingresses map[finding.Ref]*networkingv1.Ingress
	// usedNames are the used names of routes and ListenerRuleConfigurations, as "KIND NAMESPACE/NAME".
	usedNames map[string]bool
	// ruleConfigNames are the names of ListenerRuleConfigurations by namespace, base name and content.
	ruleConfigNames map[string]string
	// targetUses has the uses of target groups by Service. All generators share the map.
	targetUses map[finding.Ref][]targetUse
}

// translateIngressGroup translates the load balancer of a stack. It returns nil if Options.IsSelected does not select the
// load balancer.
func translateIngressGroup(store *cluster.Memory, id model.StackID, opt Options, targetUses map[finding.Ref][]targetUse) *generator {
	g := &generator{
		IngressGroup: &IngressGroup{ID: id}, opt: opt, view: cluster.NewView(store), ingresses: map[finding.Ref]*networkingv1.Ingress{},
		usedNames: map[string]bool{}, ruleConfigNames: map[string]string{}, targetUses: targetUses,
	}
	stack, found := opt.Ingress.Translate(g.view, id, nil)
	g.IngressStack, g.lb = stack, stack.LoadBalancer
	selected, fault := g.selectMembers(found)
	switch {
	case !selected:
		return nil
	case fault != "":
		g.addNote(Lost, finding.Ref{}, "", fault, "")
		return g
	}
	for _, f := range found {
		n := Note{Info, f.Object, f.Field, f.Message, f.Fix}
		switch {
		case opt.FromManifests && f.Reason == finding.BackendNotFound:
			n.Severity, n.Fix = Lost, "add the manifest of the Service, or translate from the cluster"
		case f.Severity == finding.Error:
			n.Severity = Lost
		}
		g.Notes = append(g.Notes, n)
	}
	if len(g.Members) == 0 || g.lb == nil {
		return g
	}
	if stack.Held.AllResources {
		g.addNote(Lost, finding.Ref{}, "", "the load balancer is held as a whole, so it is not translated", "fix the problems in the other notes")
		return g
	}
	g.build()
	return g
}

// selectMembers sets Members and ingresses, and returns the result of Options.IsSelected. An Ingress that is not accepted is
// not a member. If there is a finding about such an Ingress, it is still passed to Options.IsSelected.
func (g *generator) selectMembers(found finding.List) (selected bool, fault string) {
	for _, m := range g.IngressStack.Members {
		if ing, ok := cluster.Get[*networkingv1.Ingress](g.view, cluster.KindIngress, m.Ref.Namespace, m.Ref.Name); ok {
			g.Members, g.ingresses[m.Ref] = append(g.Members, m.Ref), ing
		}
	}
	if g.opt.IsSelected == nil {
		return true, ""
	}
	refs := slices.Clone(g.Members)
	for _, f := range found {
		if f.Object.Kind == "Ingress" && !slices.Contains(refs, f.Object) {
			refs = append(refs, f.Object)
		}
	}
	return g.opt.IsSelected(g.ID, refs)
}

// sortNotes sorts the notes, highest severity first, and removes duplicates.
func (g *generator) sortNotes() {
	slices.SortStableFunc(g.Notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), a.Object.Compare(b.Object), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	g.Notes = slices.Compact(g.Notes)
}

func (g *generator) addNote(severity Severity, object finding.Ref, field, message, fix string) {
	g.Notes = append(g.Notes, Note{severity, object, field, message, fix})
}

// objectName returns the name of a generated object of the load balancer: with suffix for a single Ingress, and with
// groupSuffix for an IngressGroup.
func (g *generator) objectName(suffix, groupSuffix string) string {
	if g.ID.Namespace == "" {
		suffix = groupSuffix
	}
	return objectName(g.ID.Namespace, g.ID.Name, suffix)
}

// migratedFrom returns the value of naming.MigratedFromTag for the resources of the load balancer.
func (g *generator) migratedFrom() string {
	if g.ID.Namespace == "" {
		return "ingress-group/" + g.ID.Name
	}
	return "ingress/" + g.ID.String()
}

// migratedFromIngress returns the value of naming.MigratedFromTag for the resources of one Ingress.
func migratedFromIngress(ref finding.Ref) string { return "ingress/" + ref.Namespace + "/" + ref.Name }

// reserveName returns the first of the candidates that no other object of the kind in the namespace has, and reserves this
// name. If all candidates are in use, it returns the last one.
func (g *generator) reserveName(kind, namespace string, candidates ...string) string {
	for _, c := range candidates {
		if key := kind + " " + namespace + "/" + c; !g.usedNames[key] {
			g.usedNames[key] = true
			return c
		}
	}
	return candidates[len(candidates)-1]
}

// tagsOf returns the tags for a configuration: without the default tags of the controller, and with origin as the value of
// naming.MigratedFromTag.
func (g *generator) tagsOf(tags map[string]string, origin string) *map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if value, isDefault := g.opt.DefaultTags[k]; !isDefault || v != value {
			out[k] = v
		}
	}
	const maxTagLength = 256
	out[naming.MigratedFromTag] = origin[:min(len(origin), maxTagLength)]
	return &out
}
