package attach

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// namespaceSelection describes the namespaces from which objects may attach to a Gateway or a listener.
type namespaceSelection struct {
	from          gatewayv1.FromNamespaces
	sameNamespace string // the namespace that from "Same" selects
	selector      labels.Selector
	err           error // the reason why the selector is malformed
}

// namespaceLabels has the labels of a namespace, if the namespace exists.
type namespaceLabels struct {
	labels labels.Set
	exists bool
}

// newNamespaceSelection returns the namespaceSelection for a field of the Gateway API. def is used if from is nil or
// empty. own is the namespace of the object with the field.
func newNamespaceSelection(from *gatewayv1.FromNamespaces, def gatewayv1.FromNamespaces, own string, selector *metav1.LabelSelector) namespaceSelection {
	s := namespaceSelection{from: def, sameNamespace: own, selector: labels.Nothing()}
	if from != nil && *from != "" {
		s.from = *from
	}
	if s.from == gatewayv1.NamespacesFromSelector && selector != nil {
		var parsed labels.Selector
		if parsed, s.err = metav1.LabelSelectorAsSelector(selector); s.err == nil {
			s.selector = parsed
		}
	}
	return s
}

// String returns a text that describes the selected namespaces. Equivalent selectors have the same text, and a selector
// that selects no namespace has another text than one that selects all.
func (s namespaceSelection) String() string {
	switch s.from {
	case gatewayv1.NamespacesFromSame:
		return "namespace " + s.sameNamespace
	case gatewayv1.NamespacesFromSelector:
		if _, selectable := s.selector.Requirements(); !selectable {
			return "selector none"
		}
		return "selector " + s.selector.String()
	}
	return string(s.from)
}

// isNamespaceSelected reports whether a namespace is selected. It reads the labels of the namespace only if s has a
// selector.
func (e *evaluation) isNamespaceSelected(s namespaceSelection, namespace string) bool {
	switch s.from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == s.sameNamespace
	case gatewayv1.NamespacesFromSelector:
		n := e.labelsOf(namespace)
		return n.exists && s.selector.Matches(n.labels)
	}
	return false
}

func (e *evaluation) labelsOf(namespace string) namespaceLabels {
	if n, ok := e.labels[namespace]; ok {
		return n
	}
	ns, ok := cluster.Get[*corev1.Namespace](e.view, cluster.KindNamespace, "", namespace)
	n := namespaceLabels{exists: ok}
	if ok {
		n.labels = ns.Labels
	}
	if e.labels == nil {
		e.labels = map[string]namespaceLabels{}
	}
	e.labels[namespace] = n
	return n
}
