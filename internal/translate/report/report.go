package report

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Reasons of events. They are the same as in AWS Load Balancer Controller, because alerts match them. The message of an
// event begins with the reason of the finding.
const (
	EventReconciled      = "SuccessfullyReconciled" // AWS has the desired state of the stack
	eventFailedLoad      = "FailedLoadGroupID"
	eventFailedFinalizer = "FailedAddFinalizer"
	eventFailedBuild     = "FailedBuildModel"
	eventFailedDeploy    = "FailedDeployModel"
	eventFailedRelease   = "FailedRemoveFinalizer"
	eventFailedStatus    = "FailedUpdateStatus"
	eventFailedCleanup   = "FailedCleanupStatus" // replaces eventFailedStatus for a Service that releases its load balancer
)

// StatusLoadBalancer is what the status of a member shows: the DNS name of the load balancer, the DNS name of its frontend
// NLB ("" if there is none), and the listener ports.
type StatusLoadBalancer struct {
	LoadBalancer, Frontend string
	Ports                  []int32
}

// StatusReporter has the functions of reporting that depend on the kind of object.
type StatusReporter interface {
	// Status returns the status fields of a member that show the load balancer, in the form of the API type; nil if the
	// status of the member is not changed.
	Status(v *cluster.View, m model.Member, n StatusLoadBalancer) any
	// ShowsLoadBalancer reports whether the status of a member shows a load balancer.
	ShowsLoadBalancer(v *cluster.View, m model.Member) bool
}

// Patches returns the patches for events about the outcome of a run, and for the status of the members. There is an event
// for each finding, and, if AWS was changed, an event about success for each member.
func Patches(v *cluster.View, o engine.Outcome, k StatusReporter) []cluster.Patch {
	var out []cluster.Patch
	for _, x := range o.Findings.Sorted() {
		// An event that is neither a warning nor reported only once just informs that the controller waits. Such an event is
		// repeated only after a change in AWS.
		if e, ok := Event(x, o.Stack.Leaving); ok && (e.Warning || e.Once || o.Changed) {
			out = append(out, e)
		}
	}
	for _, x := range o.Drift.Sorted() {
		if e, ok := Event(x, nil); ok {
			out = append(out, e)
		}
	}
	out = append(out, statusPatches(v, o, k)...)
	if o.Changed && (o.Done || len(o.FailedSteps) > 0) && !o.Stack.Held.AllResources {
		for _, m := range o.Stack.Members {
			if !m.Blocked && !hasFault(o, m.Ref) {
				out = append(out, cluster.Event{Ref: m.Ref, Reason: EventReconciled, Message: "Successfully reconciled"})
			}
		}
	}
	return out
}

// hasFault reports whether there is a finding of severity Error about the object, or whether a step for the object failed.
func hasFault(o engine.Outcome, ref finding.Ref) bool {
	return slices.ContainsFunc(o.Findings.ForObject(ref), func(f finding.Finding) bool { return f.Severity == finding.Error }) || slices.ContainsFunc(o.FailedSteps, func(f engine.FailedStep) bool {
		return slices.Contains(f.Step.RequestedBy, ref)
	})
}

// Event returns the event about a finding. It returns false if the object has no namespace, because such objects get no
// events. leaving are the members that leave the stack.
func Event(x finding.Finding, leaving []model.Member) (cluster.Event, bool) {
	if x.Object.IsZero() || x.Object.Namespace == "" {
		return cluster.Event{}, false
	}
	e := cluster.Event{Ref: x.Object, Warning: true, Fault: x.Severity == finding.Error, Reason: eventFailedBuild, Message: string(x.Reason) + ": " + x.TextWithField()}
	switch x.Reason {
	case finding.IngressClassInvalid, finding.NamespaceNotAllowed, finding.GroupNameInvalid, finding.GroupOrderInvalid:
		e.Reason = eventFailedLoad
	case finding.AccessDenied, finding.QuotaReached, finding.RejectedByAWS, finding.NameTaken, finding.RemovalNotTrusted, finding.CallFailed:
		e.Reason = eventFailedDeploy
		switch x.Field {
		case engine.FieldStatus:
			e.Reason = eventFailedStatus
			if e.Ref.Kind == cluster.KindService {
				e.Reason = eventFailedCleanup
			}
		case string(plan.Finalizer):
			e.Reason = eventFailedFinalizer
			if slices.ContainsFunc(leaving, func(m model.Member) bool { return m.Ref == x.Object }) {
				e.Reason = eventFailedRelease
			}
		}
	case finding.WaitingForTargets:
		e.Warning, e.Reason = false, string(x.Reason)
	case finding.WaitingToDelete, finding.LoadBalancerReplaced, finding.LoadBalancerMoved, finding.LoadBalancerAdopted, finding.LoadBalancerReturned, finding.AdoptionReady:
		e.Warning, e.Once, e.Reason = false, true, string(x.Reason)
	case finding.CertificatePending, finding.AdoptionRefused, finding.AdoptionDiffers:
		e.Reason = string(x.Reason)
	default:
		switch {
		case x.Blocks != finding.BlocksNothing:
		case x.Severity == finding.Warning:
			// Advice must not have the reason eventFailedBuild, because alerts match it.
			e.Reason = string(x.Reason)
		case x.Reason == finding.DeletionProtected: // AWS refuses the deletion
			e.Reason = eventFailedDeploy
		}
	}
	return e, true
}

// statusPatches returns patches that show the load balancer in the status of each member. If a blocked member shows no load
// balancer yet, its status stays empty, because the load balancer does not serve it.
func statusPatches(v *cluster.View, o engine.Outcome, k StatusReporter) []cluster.Patch {
	n := StatusLoadBalancer{LoadBalancer: o.DNSNames[model.LoadBalancerID], Frontend: o.DNSNames[model.FrontendNLBID]}
	n.Ports = ListenerPorts(o)
	if n.LoadBalancer == "" || len(n.Ports) == 0 || o.Stack.Held.AllResources {
		return nil
	}
	var out []cluster.Patch
	for _, m := range o.Stack.Members {
		if statusShowsOtherStack(o, m.Ref) {
			continue
		}
		if (m.Blocked || o.Findings.ForObject(m.Ref).LargestReach() >= finding.BlocksMember) && !k.ShowsLoadBalancer(v, m) {
			continue
		}
		if fields := k.Status(v, m, n); fields != nil {
			out = append(out, cluster.ObjectStatus{Ref: m.Ref, Fields: fields})
		}
	}
	return out
}

// ListenerPorts returns the listener ports, after a run, of the load balancer that the status shows.
func ListenerPorts(o engine.Outcome) []int32 {
	ports := slices.Clone(o.Plan.Ports)
	if len(o.Plan.ShownARNs) == 0 {
		ports = slices.DeleteFunc(ports, func(port int32) bool { return isListenerNotCreated(o, port) })
	}
	return ports
}

// PlanTooLargeEvent returns the event about a plan that is too large for an annotation of an object. size is in bytes.
func PlanTooLargeEvent(ref finding.Ref, annotation string, size int, fix string) cluster.Event {
	e, _ := Event(finding.Finding{
		Object: ref, Field: annotation, Reason: finding.PlanTooLarge,
		Message: fmt.Sprintf("the plan has %d bytes, which exceeds the size limit of annotations, so it is not shown", size),
		Fix:     fix,
	}, nil)
	return e
}

// statusShowsOtherStack reports whether the status of a member shows the load balancer of another stack, because the member
// moves to or from that stack.
func statusShowsOtherStack(o engine.Outcome, ref finding.Ref) bool {
	return slices.Contains(o.Plan.MembersWithRetainedStatus, ref) ||
		slices.ContainsFunc(o.Stack.MovesOut, func(d model.MoveOut) bool { return d.Member == ref })
}

// isListenerNotCreated reports whether the plan has a step that creates the listener of a port, and this step was not
// carried out: AWS refused it or an earlier step, or it is delayed.
func isListenerNotCreated(o engine.Outcome, port int32) bool {
	return slices.ContainsFunc(o.Plan.Steps, func(s plan.Step) bool {
		do, ok := s.Do.(plan.CreateListener)
		return ok && do.Settings.Port == port && do.LoadBalancer.ID != model.FrontendNLBID && !o.CarriedOutSteps[s.ID]
	})
}
