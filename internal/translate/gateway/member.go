package gateway

import (
	"fmt"
	"strconv"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

const classField = "spec.gatewayClassName"

// stackGateway is the Gateway of a stack, and its state: served, leaving the stack, or excluded.
type stackGateway struct {
	gw *gwv1.Gateway
	// class is the GatewayClass; nil if the Gateway is not served. gw is nil if the Gateway does not exist.
	class *gwv1.GatewayClass

	leaving       []model.Member
	deletionGuard *finding.Finding
	// unprotected reports whether the configuration of the leaving Gateway explicitly disables deletion protection.
	unprotected bool
	// movedAway reports whether the class of the Gateway now belongs to another controller.
	movedAway bool
	// excluded reports whether the Gateway is no longer served although no user has edited it. Then resources in AWS stay
	// unchanged.
	excluded bool
	found    finding.List
}

// loadGateway returns the Gateway of a stack.
func (f *Frontend) loadGateway(v *cluster.View, id model.StackID) stackGateway {
	gw, ok := cluster.Get[*gwv1.Gateway](v, cluster.KindGateway, id.Namespace, id.Name)
	if !ok {
		return stackGateway{leaving: ownership.DeletedMembers(v, id)}
	}
	l := stackGateway{gw: gw}
	claimed := ownership.ClaimOn(v, gw, id).HasOrHadFinalizer
	class := gatewayconfig.ClassOf(v, gw)
	switch {
	case !f.routesInstalled(v):
		l.excluded = claimed
	case f.lacksListenerSets(v, gw) && gw.DeletionTimestamp == nil && claimed:
		l.excluded = true
		l.found.Add(finding.Finding{
			Object: cluster.RefOf(gw), Field: "spec.allowedListeners", Reason: finding.RemovalNotTrusted, Blocks: finding.BlocksMember, Severity: finding.Error,
			Message: fmt.Sprintf("the Gateway has %d ListenerSets, but the API server no longer serves that kind; what exists in AWS stays unchanged", *gw.Status.AttachedListenerSets),
			Fix:     "install the CRD of ListenerSets of the Gateway API again",
		})
	case gw.DeletionTimestamp != nil:
		if claimed {
			l.movedAway = class != nil && !gatewayconfig.IsOwnClass(class) && f.massRemoval(v, gw) == nil
			l.setLeaving(v, id, class)
		}
	case class == nil:
		if claimed {
			l.excluded = true
			l.found.Add(finding.Finding{
				Object: cluster.RefOf(gw), Field: classField, Reason: finding.GatewayClassInvalid,
				Message: fmt.Sprintf("GatewayClass %q does not exist; what exists in AWS stays unchanged", gw.Spec.GatewayClassName),
				Fix:     "create the class, or delete the Gateway", Blocks: finding.BlocksMember,
			})
		}
	default:
		kind, ours := gatewayconfig.StackKindFor(class.Spec.ControllerName, gw)
		switch {
		case ours && kind == id.Kind:
			l.class = class
		case !claimed:
		case ours: // the frontend for the other kind of load balancer serves the Gateway
			l.setLeaving(v, id, class)
		default:
			if fault := f.massRemoval(v, gw); fault != nil {
				l.excluded = true
				l.found.Add(*fault)
				return l
			}
			l.movedAway = true
			l.setLeaving(v, id, class)
		}
	}
	return l
}

// setLeaving makes the Gateway a leaving member. If the configuration enables deletion protection, it sets deletionGuard.
// If the configuration explicitly disables the protection, it sets unprotected. class can be nil.
func (l *stackGateway) setLeaving(v *cluster.View, id model.StackID, class *gwv1.GatewayClass) {
	l.leaving = append(l.leaving, ownership.NewMember(v, l.gw, id))
	if class == nil {
		class = &gwv1.GatewayClass{}
	}
	config, _ := gatewayconfig.Resolve(v, l.gw, class)
	value, ok := gatewayconfig.AttributeMap(config.LoadBalancer.LoadBalancerAttributes)[plan.DeletionProtectionAttribute]
	on, err := strconv.ParseBool(value)
	switch {
	case !ok || err != nil:
	case !on:
		l.unprotected = true
	default:
		l.deletionGuard = &finding.Finding{
			Object: cluster.RefOf(l.gw), Field: "spec.loadBalancerAttributes of its " + cluster.KindLoadBalancerConfiguration, Reason: finding.DeletionProtected,
			Message: "the Gateway releases its load balancer, but the configuration enables deletion protection; the load balancer stays",
			Fix:     "set " + plan.DeletionProtectionAttribute + "=false first", Blocks: finding.BlocksStack, Severity: finding.Error,
		}
		if l.movedAway {
			l.deletionGuard.Message = "the GatewayClass belongs to another controller, but the configuration enables deletion protection; the load balancer stays, and no route is served"
			l.deletionGuard.Fix = "restore the class, or set " + plan.DeletionProtectionAttribute + "=false"
		}
	}
}

// massRemoval returns a finding if the class of a served Gateway, and the classes of many other Gateways, now belong to
// another controller, because this is probably a mistake; nil otherwise.
func (f *Frontend) massRemoval(v *cluster.View, gw *gwv1.Gateway) *finding.Finding {
	if f.opt.AllowMassRemoval {
		return nil
	}
	return ownership.MassRemoval(v, gw, gatewaysOfSameClass{v, gw}, ownership.ClassTexts{Field: classField, Kinds: "Gateways", Restore: "restore the GatewayClass"})
}

// gatewaysOfSameClass has the Gateways with the same class as gateway. It implements ownership.ControllerSelector.
type gatewaysOfSameClass struct {
	view    *cluster.View
	gateway *gwv1.Gateway
}

// Objects implements ownership.ControllerSelector.
func (c gatewaysOfSameClass) Objects() []cluster.Object {
	var out []cluster.Object
	for _, o := range cluster.List[*gwv1.Gateway](c.view, cluster.Query{Kind: cluster.KindGateway, Index: cluster.GatewayByClass, Value: string(c.gateway.Spec.GatewayClassName)}) {
		out = append(out, o)
	}
	return out
}

// EditedByUser implements ownership.ControllerSelector.
func (c gatewaysOfSameClass) EditedByUser(o cluster.Object) bool {
	return changedControllerByEdit(c.view, o.(*gwv1.Gateway))
}

// SelectsOtherController implements ownership.ControllerSelector.
func (c gatewaysOfSameClass) SelectsOtherController(o cluster.Object) bool {
	return !gatewayconfig.IsOwnClass(gatewayconfig.ClassOf(c.view, o.(*gwv1.Gateway)))
}

// changedControllerByEdit reports whether a user moved the Gateway to another controller by editing its class name. The
// controller of a GatewayClass cannot change. So if the class name was not edited since the class was created, the class
// was deleted and created again with another controller. If the class does not exist, the result is true only if the edit
// is later than the finalizer of this controller.
func changedControllerByEdit(v *cluster.View, gw *gwv1.Gateway) bool {
	edited := cluster.ClassEditedAt(gw)
	if edited.IsZero() {
		edited = gw.CreationTimestamp.Time
	}
	since := cluster.FinalizersEditedAt(gw).Add(time.Second) // the API server stores times in whole seconds
	if class := gatewayconfig.ClassOf(v, gw); class != nil {
		since = class.CreationTimestamp.Time
	}
	return !edited.Before(since)
}

// configurationField returns the kind, namespace and name of a TargetGroupConfiguration, for use as the field of a finding.
func configurationField(of *gwconfig.TargetGroupConfiguration) string {
	return fmt.Sprintf("%s %s/%s", cluster.KindTargetGroupConfiguration, of.Namespace, of.Name)
}
