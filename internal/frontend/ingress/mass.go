package ingress

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// massFrom is how many Ingresses at least have to turn away at once to be taken for an accident.
const massFrom = 3

// massRemoval says that an Ingress which is served, and whose class gives it to somebody else now, is
// one of so many that not each of them can have been turned away by itself: a class was made anew
// with another controller, or this one was started for another class. None of them is being
// deleted, and load balancers that are removed get other names when they are made again. Nil if
// the Ingress may go.
func (f *Frontend) massRemoval(v *cluster.View, ing *networkingv1.Ingress) *finding.Finding {
	if f.opt.AllowMassRemoval {
		return nil
	}
	served, turned := 0, 0
	for _, o := range cluster.List[*networkingv1.Ingress](v, cluster.Query{Kind: cluster.KindIngress}) {
		if o.DeletionTimestamp != nil || len(claimedBy(o)) == 0 {
			continue
		}
		served++
		if c := f.classify(v, o); c.fault == nil && !c.managed {
			turned++
		}
	}
	if turned < massFrom || 2*turned <= served {
		return nil
	}
	return &finding.Finding{
		Object: refOf(ing), Field: classNameField, Reason: finding.RemovalNotTrusted, Severity: finding.Error,
		Message: fmt.Sprintf("the class gives the Ingress to another controller, as it does with %d of %d Ingresses that are served; what is live stays", turned, served),
		Fix:     "restore the class or --ingress-class; if this is meant, delete the Ingresses, or start the controller with --allow-mass-removal", Blocks: finding.BlocksMember,
	}
}
