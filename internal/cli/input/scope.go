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

// scope selects the objects that a command is about: all objects, the objects of a namespace, the objects on the command
// line, or the objects that files change.
type scope struct {
	Namespace     string // the value of --namespace
	AllNamespaces bool   // whether --all-namespaces is set
	Context       string // the value of --context
	// Named are the objects that the command line names.
	Named []cluster.Ref
	// fileChanges are the changes that files make to objects of the cluster. It is nil if no cluster is read.
	fileChanges []objectChange
}

// objectChange is an object before and after a change. before is nil for a new object.
type objectChange struct{ before, after cluster.Object }

// bind registers the flags of a scope.
func (s *scope) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&s.Namespace, "namespace", "n", "", "namespace of the objects; if empty and no object is named, all namespaces")
	fs.BoolVarP(&s.AllNamespaces, "all-namespaces", "A", false, "select all namespaces; with -f, also the objects that the files do not change")
	fs.StringVar(&s.Context, "context", "", "context of the kubeconfig to use; the current one if empty")
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
}

// coversEverything reports whether the scope includes all objects that were read.
func (s *scope) coversEverything() bool {
	return s.AllNamespaces || s.Namespace == "" && len(s.Named) == 0 && len(s.fileChanges) == 0
}

// Parse adds to Named the objects that arguments name, as KIND/NAME or KIND NAME. namespace is the namespace of all of them
// that are namespaced.
func (s *scope) Parse(args []string, namespace string) error {
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
			ref.Namespace = namespace
		}
		s.Named = append(s.Named, ref)
	}
	return nil
}

// selection has the stacks and TargetGroupBindings that a command is about.
type selection struct {
	stacks []model.StackID
	// bindings is nil if the command is about all TargetGroupBindings.
	bindings map[bindings.Key]bool
}

// selectAffected returns the stacks and TargetGroupBindings that the objects of a scope affect.
func (s *scope) selectAffected(store *cluster.Memory, frontends engine.Frontends) selection {
	all := stacksOf(store, frontends)
	if s.coversEverything() {
		return selection{stacks: all}
	}
	finder := stackFinder{store: store, frontends: frontends, reads: cluster.NewTracker[model.StackID]()}
	for _, id := range all {
		v := cluster.NewView(store)
		frontends[id.Kind].Translate(v, id, nil)
		finder.reads.Record(id, v)
	}
	affected := map[model.StackID]bool{}
	keys := map[bindings.Key]bool{}
	for _, c := range s.objectsInScope(store) {
		for _, id := range finder.affectedStacks(c) {
			affected[id] = true
		}
		if ref := cluster.RefOf(c.after); ref.Kind == cluster.KindBinding {
			keys[bindings.Key{Namespace: ref.Namespace, Name: ref.Name}] = true
		}
	}
	out := selection{bindings: keys}
	for _, id := range all {
		if affected[id] {
			out.stacks = append(out.stacks, id)
		}
	}
	out.addBindings(store, s.objectsInScope(store))
	return out
}

// stackFinder finds the stacks that an object affects.
type stackFinder struct {
	store     *cluster.Memory
	frontends engine.Frontends
	// reads records which objects the translation of each stack has read.
	reads *cluster.Tracker[model.StackID]
}

// affectedStacks returns the stacks that a changed object affects. These are the stacks of which the object is a member,
// and the stacks whose translation has read the object by name, such as a Service or a Secret. If the object is attached
// to another object or configures it, the stacks whose translation has read that other object are also affected.
//
// Translations also list Ingresses, Services, Gateways and IngressClasses for other reasons. For example, an Ingress without
// a class looks for the default class. Such a list does not mean that its objects affect the stack, so for these kinds only
// reads by name count.
func (p stackFinder) affectedStacks(c objectChange) []model.StackID {
	var out []model.StackID
	for _, obj := range []cluster.Object{c.before, c.after} {
		if obj == nil {
			continue
		}
		ref := cluster.RefOf(obj)
		switch ref.Kind {
		case cluster.KindIngress, cluster.KindService, cluster.KindGateway:
			out = append(out, p.reads.ConsumersOf(ref)...)
			out = append(out, p.stacksOf(obj)...)
		case cluster.KindIngressClass:
			out = append(out, p.reads.ConsumersOf(ref)...)
			if isDefaultClass(obj) {
				out = append(out, p.stacksOf(obj)...)
			}
		case cluster.KindGatewayClass, cluster.KindNamespace:
			out = append(out, p.reads.Affected(nil, obj)...)
			out = append(out, p.stacksOf(obj)...)
		default:
			out = append(out, p.reads.Affected(nil, obj)...)
		}
	}
	return out
}

// stacksOf returns the stacks of which an object is a member.
func (p stackFinder) stacksOf(obj cluster.Object) []model.StackID {
	var out []model.StackID
	for _, f := range p.frontends {
		out = append(out, f.Stacks(cluster.NewView(p.store), obj)...)
	}
	return out
}

// isDefaultClass reports whether an IngressClass is the default class.
func isDefaultClass(obj cluster.Object) bool {
	return obj.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] == "true"
}

// addBindings adds the TargetGroupBindings of the selected stacks and of changed Services.
func (s *selection) addBindings(store *cluster.Memory, changes []objectChange) {
	stacks := map[string]bool{}
	for _, id := range s.stacks {
		stacks[cluster.StackValue(id.Kind.TagPrefix(), id.Namespace, id.Name)] = true
	}
	services := map[string]bool{}
	for _, c := range changes {
		if ref := cluster.RefOf(c.after); ref.Kind == cluster.KindService {
			services[ref.Namespace+"/"+ref.Name] = true
		}
	}
	for _, b := range store.All(cluster.KindBinding) {
		belongsTo := func(owners map[string]bool, index cluster.Index) bool {
			return slices.ContainsFunc(cluster.IndexValues(index, b), func(v string) bool { return owners[v] })
		}
		if belongsTo(stacks, cluster.BindingByStack) || belongsTo(services, cluster.BindingByService) {
			s.bindings[bindings.Key{Namespace: b.GetNamespace(), Name: b.GetName()}] = true
		}
	}
}

// objectsInScope returns the objects of a scope, as changes: the named objects; if there are none, the objects of files; and
// if there are none, the objects of the namespace.
func (s *scope) objectsInScope(store *cluster.Memory) []objectChange {
	switch {
	case len(s.Named) > 0:
		var out []objectChange
		for _, ref := range s.Named {
			if obj, err := store.Get(ref); err == nil && obj != nil {
				out = append(out, objectChange{after: obj})
			}
		}
		return out
	case len(s.fileChanges) > 0:
		return slices.DeleteFunc(slices.Clone(s.fileChanges), func(c objectChange) bool {
			return s.Namespace != "" && c.after.GetNamespace() != s.Namespace
		})
	}
	var out []objectChange
	for _, typ := range cluster.Types() {
		if !typ.Namespaced || typ.Kind == cluster.KindPod || typ.Kind == cluster.KindEndpointSlice || typ.Kind == cluster.KindEndpoints {
			continue // not written by users
		}
		for _, obj := range store.All(typ.Kind) {
			if obj.GetNamespace() == s.Namespace {
				out = append(out, objectChange{after: obj})
			}
		}
	}
	return out
}
