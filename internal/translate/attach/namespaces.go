package attach

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// selection holds which namespaces may attach to something.
type selection struct {
	from     gatewayv1.FromNamespaces
	own      string // the namespace that Same stands for
	selector labels.Selector
	err      error // the selector is malformed
}

// labelled are the labels of a namespace, if it exists.
type labelled struct {
	labels labels.Set
	exists bool
}

// selectionOf reads which namespaces are meant. from is "" where nothing is set.
func selectionOf(from *gatewayv1.FromNamespaces, def gatewayv1.FromNamespaces, own string, selector *metav1.LabelSelector) selection {
	s := selection{from: def, own: own, selector: labels.Nothing()}
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

// String returns the same for selections that mean the same namespaces, whatever these are.
func (s selection) String() string {
	switch s.from {
	case gatewayv1.NamespacesFromSame:
		return "namespace " + s.own
	case gatewayv1.NamespacesFromSelector:
		return "selector " + s.selector.String()
	}
	return string(s.from)
}

// admits reports whether a namespace is meant. The labels of a namespace are read where a selector decides.
func (e *evaluation) admits(s selection, namespace string) bool {
	switch s.from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == s.own
	case gatewayv1.NamespacesFromSelector:
		n := e.labelsOf(namespace)
		return n.exists && s.selector.Matches(n.labels)
	}
	return false
}

func (e *evaluation) labelsOf(namespace string) labelled {
	if n, ok := e.labels[namespace]; ok {
		return n
	}
	ns, ok := cluster.Get[*corev1.Namespace](e.view, cluster.KindNamespace, "", namespace)
	n := labelled{exists: ok}
	if ok {
		n.labels = ns.Labels
	}
	if e.labels == nil {
		e.labels = map[string]labelled{}
	}
	e.labels[namespace] = n
	return n
}
