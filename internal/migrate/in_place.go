package migrate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// annotate gives a Gateway the annotations by which the controller only plans it, and by which it takes over the load balancer
// that the Ingresses have.
func (g *grouping) annotate(gw *gwv1.Gateway, of string) Object {
	out := Object{Object: gw, From: of}
	if g.opt.Live && !g.opt.InPlace {
		return out
	}
	gw.Annotations = map[string]string{}
	if !g.opt.Live {
		gw.Annotations[naming.DryRunAnnotation] = "true"
	}
	if g.opt.InPlace {
		gw.Annotations[naming.AdoptAnnotation] = naming.AdoptValue(g.ID)
		then := "; until " + naming.DryRunAnnotation + " is removed, the controller only plans that"
		if g.opt.Live {
			then = ""
		}
		out.Parts = map[string]string{"metadata.annotations": naming.AdoptAnnotation + ": the Gateway takes over the load balancer of " + of + then}
	}
	return out
}
