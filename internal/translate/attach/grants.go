package attach

import (
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Referrer identifies objects that refer to an object in another namespace, by their kind and namespace.
type Referrer struct{ Group, Kind, Namespace string }

// Referent is the object to which another object refers. An empty Name means all objects of the kind.
type Referent struct{ Group, Kind, Namespace, Name string }

// Grants reports which references to other namespaces are permitted. It reads the ReferenceGrants of each namespace once.
type Grants struct {
	view        *cluster.View
	byNamespace map[string]map[grant]string // names of ReferenceGrants by their namespace and the permission
}

// grant is a permission to refer to one object, or to all objects of a kind if name is empty.
type grant struct {
	from              Referrer
	group, kind, name string
}

// NewGrants returns Grants that read ReferenceGrants through the view.
func NewGrants(v *cluster.View) *Grants {
	return &Grants{view: v, byNamespace: map[string]map[grant]string{}}
}

// Permits reports whether a reference is permitted. References within a namespace are always permitted.
func (g *Grants) Permits(from Referrer, to Referent) bool {
	return from.Namespace == to.Namespace || g.PermittingGrant(from, to) != ""
}

// PermittingGrant returns the name of a ReferenceGrant in the namespace of to that permits the reference, or "" if there
// is none.
func (g *Grants) PermittingGrant(from Referrer, to Referent) string {
	all, ok := g.byNamespace[to.Namespace]
	if !ok {
		all = g.readNamespace(to.Namespace)
		g.byNamespace[to.Namespace] = all
	}
	if name := all[grant{from, to.Group, to.Kind, ""}]; name != "" || to.Name == "" {
		return name
	}
	return all[grant{from, to.Group, to.Kind, to.Name}]
}

func (g *Grants) readNamespace(namespace string) map[grant]string {
	out := map[grant]string{}
	for _, r := range cluster.List[*gatewayv1beta1.ReferenceGrant](g.view, cluster.Query{Kind: cluster.KindReferenceGrant, Namespace: namespace}) {
		for _, f := range r.Spec.From {
			for _, t := range r.Spec.To {
				entry := grant{from: Referrer{string(f.Group), string(f.Kind), string(f.Namespace)}, group: string(t.Group), kind: string(t.Kind)}
				if t.Name != nil {
					entry.name = string(*t.Name)
				}
				if first := out[entry]; first == "" || r.Name < first {
					out[entry] = r.Name
				}
			}
		}
	}
	return out
}
