package input

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// lister lists the objects of a cluster for a user who may be permitted to read only one namespace.
type lister struct {
	client.Reader
	// watchedNamespace is the only namespace that the controller watches, "" for all.
	watchedNamespace string
	// namespace is the only namespace that the command is about, or "" if there are several.
	namespace string
	// namespaceOnlyKinds are kinds that were listed only in the namespace of the command.
	namespaceOnlyKinds []cluster.Kind
	// unavailableKinds are kinds that the user may not list at all.
	unavailableKinds []cluster.Kind
	// anyRead reports whether any kind was listed.
	anyRead bool
}

// list lists the objects of one kind, and stores them in "into". If the user may not list them in all namespaces and the
// command is about one namespace, it lists only that namespace. If the user may not list that namespace either, "into"
// stays empty.
func (l *lister) list(ctx context.Context, typ cluster.Type, into client.ObjectList) error {
	err := l.List(ctx, into, client.InNamespace(l.watchedNamespace))
	if !apierrors.IsForbidden(err) {
		l.anyRead = l.anyRead || err == nil
		return err
	}
	if l.namespace == "" {
		return fmt.Errorf("%w; a plan reads objects of all namespaces, because they can share load balancers: bind the rules of config/rbac with the verbs get, list and watch to the user or role that runs this command, look at one namespace by -n, or plan files alone by --files-only", err)
	}
	if typ.Namespaced {
		namespaceErr := l.List(ctx, into, client.InNamespace(l.namespace))
		if namespaceErr == nil {
			l.namespaceOnlyKinds, l.anyRead = append(l.namespaceOnlyKinds, typ.Kind), true
			return nil
		}
		if !apierrors.IsForbidden(namespaceErr) {
			return namespaceErr
		}
	}
	l.unavailableKinds = append(l.unavailableKinds, typ.Kind)
	return nil
}

// reportUnavailableKinds prints which kinds of objects were not read, or were read in one namespace only, and how this
// affects the output of the command. It returns an error if no kind was read.
func (l *lister) reportUnavailableKinds(notes io.Writer) error {
	if !l.anyRead {
		return fmt.Errorf("you may read nothing in namespace %q either; bind the rules of config/rbac with the verbs get and list to the user or role that runs this command, or plan files alone by --files-only", l.namespace)
	}
	if l.watchedNamespace != "" && l.namespace == "" {
		fmt.Fprintf(notes, "# only namespace %q was read, as the controller watches it alone (--watch-namespace); it does not act on objects of other namespaces\n", l.watchedNamespace)
	}
	if len(l.namespaceOnlyKinds) > 0 {
		fmt.Fprintf(notes, "# only objects of namespace %q were read, as you have no permission to list these kinds in all namespaces: %s; objects of other namespaces are missing here, so they may be reported as not existing, and what they have in a shared load balancer or security group may be shown as deleted, although the controller does not delete it; bind the rules of config/rbac with the verbs get and list to see all objects\n",
			l.namespace, JoinKinds(l.namespaceOnlyKinds))
	}
	if len(l.unavailableKinds) > 0 {
		fmt.Fprintf(notes, "# not read, as you have no permission to list them: %s; classes and namespaces that objects name are assumed to exist, and any other object of these kinds is treated as missing, so it may be reported as not existing\n", JoinKinds(l.unavailableKinds))
	}
	return nil
}

// notReadError returns an error that explains why an object that the command line names was not read.
func notReadError(ref cluster.Ref, d *Source) error {
	switch {
	case slices.Contains(d.notInstalledKinds, ref.Kind):
		return fmt.Errorf("%s does not exist, as the cluster does not serve kind %s; install its definition", ref, ref.Kind)
	case slices.Contains(d.unreadableKinds, ref.Kind):
		return fmt.Errorf("%s does not exist or cannot be read, as %s", ref, notListedText(ref))
	case ref.Kind == cluster.KindSecret && d.ClusterRead:
		return fmt.Errorf("%s was not looked up, as commands read only the Secrets that other objects name; name one of these objects", ref)
	}
	return fmt.Errorf("%s does not exist; check its name, and its namespace with -n", ref)
}

// notListedText returns the end of a message about an object that the user may not list, with the fix.
func notListedText(ref cluster.Ref) string {
	in := ""
	if ref.Namespace != "" {
		in = fmt.Sprintf(" in namespace %q", ref.Namespace)
	}
	return fmt.Sprintf("you have no permission to list objects of kind %s%s; bind the rules of config/rbac with the verbs get and list to the user or role that runs this command", ref.Kind, in)
}

// notReadReason returns why an object that was not read may exist in the cluster. It returns "" if all objects of its
// kind and namespace were read.
func notReadReason(ref cluster.Ref, d *Source) string {
	watched := watchedNamespace(d.Config.Kubernetes.WatchNamespace)
	switch {
	case !d.ClusterRead:
		return ""
	case !watched.includes(ref.Namespace):
		return watched.notWatchedError(ref.String()).Error()
	case slices.Contains(d.unreadableKinds, ref.Kind), slices.Contains(d.namespaceOnlyKinds, ref.Kind) && ref.Namespace != d.SingleNamespace():
		return fmt.Sprintf("%s was not read, as %s", ref, notListedText(ref))
	}
	return ""
}

// watchedNamespace is the only namespace that the controller watches, "" for all.
type watchedNamespace string

// includes reports whether the controller watches the objects of a namespace. It returns true for "", which is the namespace
// of cluster-scoped objects.
func (w watchedNamespace) includes(namespace string) bool {
	return w == "" || namespace == "" || namespace == string(w)
}

// notWatchedError returns the error for an object or namespace that the controller does not watch. subject describes it.
func (w watchedNamespace) notWatchedError(subject string) error {
	return fmt.Errorf("%s was not read, as the controller watches namespace %q alone (--watch-namespace); it does not act on objects of other namespaces", subject, string(w))
}

// filter returns the objects of files that the controller watches. It prints a note about the objects that it omits, or
// returns an error if it omits all.
func (w watchedNamespace) filter(files []fileObject, notes io.Writer) ([]fileObject, error) {
	var out []fileObject
	var others []string
	for _, f := range files {
		if w.includes(f.GetNamespace()) {
			out = append(out, f)
		} else {
			others = append(others, cluster.RefOf(f.Object).String())
		}
	}
	switch {
	case len(others) == 0:
	case len(out) == 0:
		return nil, w.notWatchedError(output.JoinFirst(others))
	default:
		fmt.Fprintf(notes, "# %v\n", w.notWatchedError(output.JoinFirst(others)))
	}
	return out, nil
}

// SingleNamespace returns the only namespace that a scope includes, or "" if the scope includes several.
func (s *scope) SingleNamespace() string {
	if s.AllNamespaces || len(s.Named) == 0 {
		return s.Namespace
	}
	namespace := s.Named[0].Namespace
	for _, ref := range s.Named {
		if ref.Namespace != namespace {
			return ""
		}
	}
	return namespace
}

// UnavailableKinds returns those of the given kinds that the user may not list.
func UnavailableKinds(d *Source, of ...cluster.Kind) []cluster.Kind {
	return intersectKinds(d.unreadableKinds, of)
}

// NamespaceOnlyKinds returns those of the given kinds that were read only in the namespace of the command, because the user
// may not list them in all namespaces.
func NamespaceOnlyKinds(d *Source, of ...cluster.Kind) []cluster.Kind {
	return intersectKinds(d.namespaceOnlyKinds, of)
}

// intersectKinds returns the kinds that are in both lists, in the order of the first list.
func intersectKinds(all, of []cluster.Kind) []cluster.Kind {
	return slices.DeleteFunc(slices.Clone(all), func(k cluster.Kind) bool { return !slices.Contains(of, k) })
}

// checkExistence returns an error if an object or namespace that the command line names is not among the objects that were
// read. Otherwise a mistyped name would look like a plan without changes.
func (d *Source) checkExistence(store *cluster.Memory) error {
	watched := watchedNamespace(d.Config.Kubernetes.WatchNamespace)
	for _, ref := range d.Named {
		if !watched.includes(ref.Namespace) {
			return watched.notWatchedError(ref.String())
		}
		if obj, err := store.Get(ref); err != nil || obj == nil {
			return cmp.Or(err, notReadError(ref, d))
		}
	}
	if d.Namespace == "" || len(d.Named) > 0 {
		return nil
	}
	if !watched.includes(d.Namespace) {
		return watched.notWatchedError(fmt.Sprintf("namespace %q", d.Namespace))
	}
	var names []string
	for _, typ := range cluster.Types() {
		for _, obj := range store.All(typ.Kind) {
			if typ.Kind == cluster.KindNamespace {
				names = append(names, obj.GetName())
			}
			if obj.GetNamespace() == d.Namespace || typ.Kind == cluster.KindNamespace && obj.GetName() == d.Namespace {
				return nil
			}
		}
	}
	switch {
	case !d.ClusterRead:
		return fmt.Errorf("no object of the files is in namespace %q%s; check -n", d.Namespace, finding.SpellingHint(d.Namespace, names))
	case len(d.namespaceOnlyKinds) > 0: // the user has a right in the namespace, so it exists
		return nil
	case len(names) == 0:
		return fmt.Errorf("namespace %q has no object that was read, and does not exist or cannot be read; check -n", d.Namespace)
	}
	return fmt.Errorf("namespace %q does not exist%s; check -n", d.Namespace, finding.SpellingHint(d.Namespace, names))
}
