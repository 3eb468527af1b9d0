package input

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// lister lists the objects of a cluster for a user who may not read all of them, but those of one namespace.
type lister struct {
	client.Reader
	// watched is the namespace that the controller is limited to, and own the one that the command is about, "" for all.
	watched, own string
	// narrowed are kinds that were read in the own namespace alone, and unavailable those that were not read at all.
	narrowed, unavailable []cluster.Kind
	read                  bool
}

// list lists one kind. A kind that may not be listed is left out if the command is about one namespace.
func (l *lister) list(ctx context.Context, typ cluster.Type, into client.ObjectList) error {
	err := l.List(ctx, into, client.InNamespace(l.watched))
	if !apierrors.IsForbidden(err) {
		l.read = l.read || err == nil
		return err
	}
	if l.own == "" {
		return fmt.Errorf("%w; a plan reads objects of all namespaces, because they can share load balancers: bind the rules of config/rbac with the verbs get, list and watch to whoever runs this, look at one namespace by -n, or plan files alone by --files-only", err)
	}
	if typ.Namespaced {
		again := l.List(ctx, into, client.InNamespace(l.own))
		if again == nil {
			l.narrowed, l.read = append(l.narrowed, typ.Kind), true
			return nil
		}
		if !apierrors.IsForbidden(again) {
			return again
		}
	}
	l.unavailable = append(l.unavailable, typ.Kind)
	return nil
}

// report writes what was not read, and what that means for the answer.
func (l *lister) report(notes io.Writer) error {
	if !l.read {
		return fmt.Errorf("you may read nothing in namespace %q either; bind the rules of config/rbac with the verbs get and list to whoever runs this, or plan files alone by --files-only", l.own)
	}
	if l.watched != "" && l.own == "" {
		fmt.Fprintf(notes, "# only namespace %q was read, as the controller watches it alone (--watch-namespace); it does not act on objects of other namespaces\n", l.watched)
	}
	if len(l.narrowed) > 0 {
		fmt.Fprintf(notes, "# only those of namespace %q were read, as you may not list them in all namespaces: %s; what other namespaces have in a shared load balancer or in rules of security groups is missing here and may be shown as deleted, which the controller does not do; bind the rules of config/rbac with the verbs get and list for the whole answer\n",
			l.own, kinds(l.narrowed))
	}
	if len(l.unavailable) > 0 {
		fmt.Fprintf(notes, "# not read, as you may not list them: %s; classes and namespaces that objects name are assumed to be there, and anything else of these kinds counts as missing\n", kinds(l.unavailable))
	}
	return nil
}

func kinds(ks []cluster.Kind) string {
	var out []string
	for _, k := range ks {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}

// notReadError returns an error with why an object that the command line names was not read.
func notReadError(ref cluster.Ref, d *Source) error {
	switch {
	case slices.Contains(d.unserved, ref.Kind):
		return fmt.Errorf("%s does not exist, as the cluster does not serve kind %s; install its definition", ref, ref.Kind)
	case slices.Contains(d.unreadable, ref.Kind):
		return fmt.Errorf("%s does not exist or may not be read, as you may not list objects of kind %s in namespace %q; bind the rules of config/rbac with the verbs get and list to whoever runs this", ref, ref.Kind, ref.Namespace)
	}
	return fmt.Errorf("%s does not exist; check its name, and its namespace with -n", ref)
}

// watched is the only namespace that the controller looks at, "" for all.
type watched string

// has reports whether the controller looks at the objects of a namespace; "" is that of objects without one.
func (w watched) has(namespace string) bool {
	return w == "" || namespace == "" || namespace == string(w)
}

// namespaceError returns an error: that something is of another namespace.
func (w watched) namespaceError(what string) error {
	return fmt.Errorf("%s was not read, as the controller watches namespace %q alone (--watch-namespace); it does not act on objects of other namespaces", what, string(w))
}

// inWatchedNamespaces returns the objects of files that the controller would look at.
func (w watched) inWatchedNamespaces(files []fromFile, notes io.Writer) ([]fromFile, error) {
	var out []fromFile
	var others []string
	for _, f := range files {
		if w.has(f.GetNamespace()) {
			out = append(out, f)
		} else {
			others = append(others, cluster.RefOf(f.Object).String())
		}
	}
	switch {
	case len(others) == 0:
	case len(out) == 0:
		return nil, w.namespaceError(output.JoinFirst(others))
	default:
		fmt.Fprintf(notes, "# %v\n", w.namespaceError(output.JoinFirst(others)))
	}
	return out, nil
}

// subject returns the one namespace that a scope is about, "" if there are several.
func (s *scope) subject() string {
	if s.All || len(s.Named) == 0 {
		return s.Namespace
	}
	in := s.Named[0].Namespace
	for _, ref := range s.Named {
		if ref.Namespace != in {
			return ""
		}
	}
	return in
}

// UnavailableOwners returns the kinds that make load balancers and that could not be read.
func UnavailableOwners(d *Source) []cluster.Kind {
	return Unavailable(d, cluster.KindIngress, cluster.KindService, cluster.KindGateway, cluster.KindGlobalAccelerator)
}

// Unavailable returns the kinds of a list that the user may not list.
func Unavailable(d *Source, of ...cluster.Kind) []cluster.Kind {
	return intersectKinds(d.unreadable, of)
}

// Narrowed returns the kinds of a list that were read in the namespace of the command alone, as the user may not list
// them in all.
func Narrowed(d *Source, of ...cluster.Kind) []cluster.Kind { return intersectKinds(d.narrowed, of) }

func intersectKinds(all, of []cluster.Kind) []cluster.Kind {
	return slices.DeleteFunc(slices.Clone(all), func(k cluster.Kind) bool { return !slices.Contains(of, k) })
}

// exists returns an error for an object or a namespace that the command is about and of which nothing was read, not even
// that it is there: nothing to do is no answer about a name that is mistyped.
func (d *Source) exists(store *cluster.Memory) error {
	only := watched(d.Config.Kubernetes.WatchNamespace)
	for _, ref := range d.Named {
		if !only.has(ref.Namespace) {
			return only.namespaceError(ref.String())
		}
		if obj, err := store.Get(ref); err != nil || obj == nil {
			return cmp.Or(err, notReadError(ref, d))
		}
	}
	if d.Namespace == "" || len(d.Named) > 0 {
		return nil
	}
	if !only.has(d.Namespace) {
		return only.namespaceError(fmt.Sprintf("namespace %q", d.Namespace))
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
	case !d.Live:
		return fmt.Errorf("no object of the files is in namespace %q%s; check -n", d.Namespace, finding.DidYouMean(d.Namespace, names))
	case len(d.narrowed) > 0: // who has rights in a namespace has them in one that exists
		return nil
	case len(names) == 0:
		return fmt.Errorf("namespace %q has no object that was read, and does not exist or may not be read; check -n", d.Namespace)
	}
	return fmt.Errorf("namespace %q does not exist%s; check -n", d.Namespace, finding.DidYouMean(d.Namespace, names))
}
