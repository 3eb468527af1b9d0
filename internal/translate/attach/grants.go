package attach

import (
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// From is what refers to an object of another namespace.
type From struct{ Group, Kind, Namespace string }

// To is an object that is referred to.
type To struct{ Group, Kind, Namespace, Name string }

// Granted reports whether a reference is permitted: within a namespace always, and into another one by a ReferenceGrant there.
func Granted(v *cluster.View, from From, to To) bool { return NewGrants(v).Permits(from, to) }

// Grants answers which references are permitted. The ReferenceGrants of a namespace are read once.
type Grants struct {
	view        *cluster.View
	byNamespace map[string]map[grant]string // names of ReferenceGrants
}

// grant permits references to one object, or to all of a kind if the name is empty.
type grant struct {
	from              From
	group, kind, name string
}

// NewGrants reads through the view.
func NewGrants(v *cluster.View) *Grants {
	return &Grants{view: v, byNamespace: map[string]map[grant]string{}}
}

// Permits reports whether a reference is permitted.
func (g *Grants) Permits(from From, to To) bool {
	return from.Namespace == to.Namespace || g.PermittingGrant(from, to) != ""
}

// PermittingGrant returns the name of a ReferenceGrant in the namespace of an object that permits a reference to it, ""
// if none does.
func (g *Grants) PermittingGrant(from From, to To) string {
	all, ok := g.byNamespace[to.Namespace]
	if !ok {
		all = g.read(to.Namespace)
		g.byNamespace[to.Namespace] = all
	}
	if name := all[grant{from, to.Group, to.Kind, ""}]; name != "" || to.Name == "" {
		return name
	}
	return all[grant{from, to.Group, to.Kind, to.Name}]
}

func (g *Grants) read(namespace string) map[grant]string {
	out := map[grant]string{}
	for _, r := range cluster.List[*gatewayv1beta1.ReferenceGrant](g.view, cluster.Query{Kind: cluster.KindReferenceGrant, Namespace: namespace}) {
		for _, f := range r.Spec.From {
			for _, t := range r.Spec.To {
				entry := grant{from: From{string(f.Group), string(f.Kind), string(f.Namespace)}, group: string(t.Group), kind: string(t.Kind)}
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
