package service

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Frontend translates Services. It has no state.
type Frontend struct{ opt Options }

// New returns the frontend with the options.
func New(opt Options) *Frontend { return &Frontend{opt: opt.withDefaults()} }

// Stacks returns the stacks to which an object belongs. A Service belongs to the stack that its annotations select, and to
// the stacks whose finalizers it has. Stacks in which a Service is only a weighted backend are not returned, because the
// views of these stacks have recorded that they read the Service.
func (f *Frontend) Stacks(v *cluster.View, obj cluster.Object) []model.StackID {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return nil
	}
	out := ownership.ClaimedStacks(v, svc)
	if f.isAccepted(svc) {
		id, _ := f.stackOf(v, svc)
		out = append(out, id)
	}
	slices.SortFunc(out, model.StackID.Compare)
	return slices.Compact(out)
}

// HasObjects reports whether a stack has Services, including Services that are leaving it.
func (f *Frontend) HasObjects(v *cluster.View, id model.StackID) bool {
	g := f.loadServices(v, id)
	return len(g.members)+len(g.leaving)+len(g.excluded) > 0
}

// singleServiceStack returns the stack of a Service that does not share a load balancer.
func singleServiceStack(svc *corev1.Service) model.StackID {
	return model.StackID{Kind: model.Service, Namespace: svc.Namespace, Name: svc.Name}
}

// isAccepted reports whether this controller serves a Service, according to its type and its class.
func (f *Frontend) isAccepted(svc *corev1.Service) bool {
	return settings.ServiceSelection{Class: f.opt.Class, LoadBalancersOnly: f.opt.OnlyLoadBalancers}.Serves(svc)
}

const (
	targetTypeAnnotation  = settings.ServicePrefix + "aws-load-balancer-nlb-target-type"
	schemeAnnotation      = settings.ServicePrefix + "aws-load-balancer-scheme"
	addressTypeAnnotation = settings.ServicePrefix + "aws-load-balancer-ip-address-type"
	attributesAnnotation  = settings.ServicePrefix + "aws-load-balancer-attributes"
)

// isControllerChangedByUser reports whether a user edited the fields that select the controller of a Service after the
// Service got the finalizer. It is called for a Service that is no longer accepted. If the Service was not edited, the flags
// of the controller exclude it. A Service that selects no controller counts as edited, because no flag excludes it.
func isControllerChangedByUser(svc *corev1.Service) bool {
	if svc.Spec.LoadBalancerClass == nil && !(settings.ServiceSelection{}).Serves(svc) {
		return true
	}
	edited := cluster.ClassEditedAt(svc)
	if edited.IsZero() {
		edited = svc.CreationTimestamp.Time
	}
	return !edited.Before(cluster.FinalizersEditedAt(svc).Add(time.Second)) // the API server stores times in whole seconds
}

// excludedServiceFinding returns the finding about a Service that has a load balancer and that the flags of the controller
// exclude.
func excludedServiceFinding(svc *corev1.Service) finding.Finding {
	return finding.Finding{
		Object: cluster.RefOf(svc), Field: "spec.loadBalancerClass", Reason: finding.RemovalNotTrusted, Severity: finding.Error,
		Message: "the flags of the controller no longer select the Service, which was not edited; its load balancer stays unchanged, because no load balancer is deleted for a change of flags alone",
		Fix:     "restore --load-balancer-class or feature gate ServiceTypeLoadBalancerOnly; to delete the load balancer, edit or delete the Service, or start the controller with --allow-mass-removal",
		Blocks:  finding.BlocksMember,
	}
}
