package input

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// scope is what a command is about: everything, a namespace, some objects, or what manifests touch.
type scope struct {
	Namespace string
	All       bool
	Context   string
	// Named are the objects that the command line names.
	Named []cluster.Ref
	// touched are the objects of manifests, as they were and as they are.
	touched []change
}

// change is an object before and after; before is nil for one that is new.
type change struct{ before, after cluster.Object }

func (s *scope) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&s.Namespace, "namespace", "n", "", "namespace of the objects; all namespaces if neither it nor an object is given")
	fs.BoolVarP(&s.All, "all-namespaces", "A", false, "all namespaces, and with -f also what the files do not touch")
	fs.StringVar(&s.Context, "context", "", "context of the kubeconfig to use; the current one if empty")
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
}

// isEverything reports whether the command is about everything that was read.
func (s *scope) isEverything() bool {
	return s.All || s.Namespace == "" && len(s.Named) == 0 && len(s.touched) == 0
}

// Parse reads the objects that the command line names, as KIND/NAME or KIND NAME. in is the namespace
// of those without one.
func (s *scope) Parse(args []string, in string) error {
	if len(args) > 1 && !strings.Contains(args[0], "/") {
		kind := args[0]
		args = slices.Clone(args[1:])
		for i := range args {
			args[i] = kind + "/" + args[i]
		}
	}
	for _, arg := range args {
		ref, err := parseObject(arg)
		if err != nil {
			return err
		}
		if typ, _ := cluster.TypeOf(ref.Kind); typ.Namespaced {
			ref.Namespace = in
		}
		s.Named = append(s.Named, ref)
	}
	return nil
}

// Selection is what of a cluster a scope is about.
type Selection struct {
	stacks []model.StackID
	// bindings are nil where all are meant.
	bindings map[bindings.Key]bool
}

// selection finds the stacks and TargetGroupBindings that a scope is about.
func (s *scope) selection(store *cluster.Memory, frontends engine.Frontends) Selection {
	all := stacksOf(store, frontends)
	if s.isEverything() {
		return Selection{stacks: all}
	}
	p := parts{store: store, frontends: frontends, asked: cluster.NewTracker[model.StackID]()}
	for _, id := range all {
		v := cluster.NewView(store)
		frontends[id.Kind].Translate(v, id, nil)
		p.asked.Record(id, v)
	}
	hit := map[model.StackID]bool{}
	keys := map[bindings.Key]bool{}
	for _, c := range s.namedObjects(store) {
		for _, id := range p.affectedStacks(c) {
			hit[id] = true
		}
		if ref := cluster.RefOf(c.after); ref.Kind == cluster.KindBinding {
			keys[bindings.Key{Namespace: ref.Namespace, Name: ref.Name}] = true
		}
	}
	out := Selection{bindings: keys}
	for _, id := range all {
		if hit[id] {
			out.stacks = append(out.stacks, id)
		}
	}
	out.addBindings(store, s.namedObjects(store))
	return out
}

// parts finds out which stacks an object has a part in.
type parts struct {
	store     *cluster.Memory
	frontends engine.Frontends
	// asked holds what the translation of each stack has asked for.
	asked *cluster.Tracker[model.StackID]
}

// affectedStacks returns the stacks that a changed object has a part in: those that it makes up, those whose
// translation has asked for it by name, as for a Service or Secret, and those that have asked for what it is attached
// to or configures. Ingresses, Services, Gateways and IngressClasses are listed for other reasons too: a stack without
// members counts those of all namespaces that share something with it, and an Ingress without a class looks for the
// default class. Such a list says nothing about the objects in it.
func (p parts) affectedStacks(c change) []model.StackID {
	var out []model.StackID
	for _, obj := range []cluster.Object{c.before, c.after} {
		if obj == nil {
			continue
		}
		ref := cluster.RefOf(obj)
		switch ref.Kind {
		case cluster.KindIngress, cluster.KindService, cluster.KindGateway:
			out = append(out, p.asked.ConsumersOf(ref)...)
			out = append(out, p.stacksOfMember(obj)...)
		case cluster.KindIngressClass:
			out = append(out, p.asked.ConsumersOf(ref)...)
			if isDefaultClass(obj) {
				out = append(out, p.stacksOfMember(obj)...)
			}
		case cluster.KindGatewayClass, cluster.KindNamespace:
			out = append(out, p.asked.Affected(nil, obj)...)
			out = append(out, p.stacksOfMember(obj)...)
		default:
			out = append(out, p.asked.Affected(nil, obj)...)
		}
	}
	return out
}

func (p parts) stacksOfMember(obj cluster.Object) []model.StackID {
	var out []model.StackID
	for _, f := range p.frontends {
		out = append(out, f.Stacks(cluster.NewView(p.store), obj)...)
	}
	return out
}

func isDefaultClass(obj cluster.Object) bool {
	return obj.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] == "true"
}

// addBindings adds the bindings of the stacks, and those of Services that are concerned.
func (s *Selection) addBindings(store *cluster.Memory, changes []change) {
	values := map[string]bool{}
	for _, id := range s.stacks {
		values[cluster.StackValue(id.Kind.TagPrefix(), id.Namespace, id.Name)] = true
	}
	services := map[string]bool{}
	for _, c := range changes {
		if ref := cluster.RefOf(c.after); ref.Kind == cluster.KindService {
			services[ref.Namespace+"/"+ref.Name] = true
		}
	}
	for _, b := range store.All(cluster.KindBinding) {
		of := func(index cluster.Index, known map[string]bool) bool {
			return slices.ContainsFunc(cluster.IndexValues(cluster.KindBinding, index, b), func(v string) bool { return known[v] })
		}
		if of(cluster.BindingByStack, values) || of(cluster.BindingByService, services) {
			s.bindings[bindings.Key{Namespace: b.GetNamespace(), Name: b.GetName()}] = true
		}
	}
}

// namedObjects returns the objects that a scope names.
func (s *scope) namedObjects(store *cluster.Memory) []change {
	switch {
	case len(s.Named) > 0:
		var out []change
		for _, ref := range s.Named {
			if obj, err := store.Get(ref); err == nil && obj != nil {
				out = append(out, change{after: obj})
			}
		}
		return out
	case len(s.touched) > 0:
		return slices.DeleteFunc(slices.Clone(s.touched), func(c change) bool {
			return s.Namespace != "" && c.after.GetNamespace() != s.Namespace
		})
	}
	var out []change
	for _, typ := range cluster.Types() {
		if !typ.Namespaced || typ.Kind == cluster.KindPod || typ.Kind == cluster.KindEndpointSlice || typ.Kind == cluster.KindEndpoints {
			continue // a namespace is looked at by what its users write
		}
		for _, obj := range store.All(typ.Kind) {
			if obj.GetNamespace() == s.Namespace {
				out = append(out, change{after: obj})
			}
		}
	}
	return out
}
