package migrate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// annotateGateway sets the annotations of Options.WithoutDryRun and Options.InPlace on a Gateway, and returns it as an
// Object with origin source.
func (g *generator) annotateGateway(gw *gwv1.Gateway, source string) Object {
	out := Object{Object: gw, Origin: source}
	if g.opt.WithoutDryRun && !g.opt.InPlace {
		return out
	}
	gw.Annotations = map[string]string{}
	if !g.opt.WithoutDryRun {
		gw.Annotations[naming.DryRunAnnotation] = "true"
	}
	if g.opt.InPlace {
		gw.Annotations[naming.AdoptAnnotation] = naming.AdoptAnnotationValue(g.ID)
		condition := "; until " + naming.DryRunAnnotation + " is removed, the controller changes nothing in AWS for the Gateway"
		if g.opt.WithoutDryRun {
			condition = ""
		}
		out.PartOrigins = map[string]string{"metadata.annotations": naming.AdoptAnnotation + ": the Gateway takes over the load balancer of " + source + condition}
	}
	return out
}
