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

// The reasons of events. They are those that older controllers gave, since alerts are built on
// them; the message begins with the reason of the finding.
const (
	EventReconciled = "SuccessfullyReconciled" // the stack is as its objects ask for
	eventLoad       = "FailedLoadGroupID"
	eventClaim      = "FailedAddFinalizer"
	eventBuild      = "FailedBuildModel"
	eventDeploy     = "FailedDeployModel"
	eventRelease    = "FailedRemoveFinalizer"
	eventStatus     = "FailedUpdateStatus"
	eventCleanup    = "FailedCleanupStatus" // eventStatus of a Service that gives its load balancer up
)

// Names is what a status shows: the load balancer, with the ports that it listens on, and the one in front of
// it, "" if there is none.
type Names struct {
	LoadBalancer, Frontend string
	Ports                  []int32
}

// Kind is what a kind of object has of its own.
type Kind interface {
	// Status are the fields of a member's status that show the load balancer, as the API type has them; nil for
	// a member whose status is not written.
	Status(v *cluster.View, m model.Member, n Names) any
	// Shows reports whether the status of a member shows a load balancer.
	Shows(v *cluster.View, m model.Member) bool
}

// Patches returns the events and the status of the members: an event for each finding on the object to blame, and
// for success where something changed.
func Patches(v *cluster.View, o engine.Outcome, k Kind) []cluster.Patch {
	var out []cluster.Patch
	for _, x := range o.Findings.Sorted() {
		// What is only waited for is news when something has moved.
		if e, ok := Event(x, o.Stack.Leaving); ok && (e.Warning || e.Once || o.Changed) {
			out = append(out, e)
		}
	}
	for _, x := range o.Drift.Sorted() {
		if e, ok := Event(x, nil); ok {
			out = append(out, e)
		}
	}
	out = append(out, statuses(v, o, k)...)
	if o.Changed && (o.Done || len(o.Failed) > 0) && !o.Stack.Held.Everything {
		for _, m := range o.Stack.Members {
			if !m.Blocked && !hasFault(o, m.Ref) {
				out = append(out, cluster.Event{Ref: RefTo(m.Ref), Reason: EventReconciled, Message: "Successfully reconciled"})
			}
		}
	}
	return out
}

// hasFault reports whether something of the object is held, lost to another member, or could not be
// carried out.
func hasFault(o engine.Outcome, ref finding.Ref) bool {
	return slices.ContainsFunc(o.Findings.On(ref), func(f finding.Finding) bool { return f.Severity == finding.Error }) || slices.ContainsFunc(o.Failed, func(f engine.FailedStep) bool {
		return slices.Contains(f.Step.Blames, ref)
	})
}

// RefTo names the object of a finding.
func RefTo(r finding.Ref) cluster.Ref {
	return cluster.Ref{Kind: cluster.Kind(r.Kind), Namespace: r.Namespace, Name: r.Name}
}

// Event returns the event of a finding; false if there is no object for it. leaving are members that leave.
func Event(x finding.Finding, leaving []model.Member) (cluster.Event, bool) {
	if x.Object.IsZero() || x.Object.Namespace == "" {
		return cluster.Event{}, false
	}
	e := cluster.Event{Ref: RefTo(x.Object), Warning: true, Fault: x.Severity == finding.Error, Reason: eventBuild, Message: string(x.Reason) + ": " + x.Located()}
	switch x.Reason {
	case finding.IngressClassInvalid, finding.NamespaceNotAllowed, finding.GroupNameInvalid, finding.GroupOrderInvalid:
		e.Reason = eventLoad
	case finding.AccessDenied, finding.QuotaReached, finding.RejectedByAWS, finding.NameTaken, finding.RemovalNotTrusted, finding.CallFailed:
		e.Reason = eventDeploy
		switch x.Field {
		case engine.FieldStatus:
			e.Reason = eventStatus
			if e.Ref.Kind == cluster.KindService {
				e.Reason = eventCleanup
			}
		case string(plan.Finalizer):
			e.Reason = eventClaim
			if slices.ContainsFunc(leaving, func(m model.Member) bool { return m.Ref == x.Object }) {
				e.Reason = eventRelease
			}
		}
	case finding.WaitingForTargets:
		e.Warning, e.Reason = false, string(x.Reason)
	case finding.WaitingToDelete, finding.LoadBalancerReplaced, finding.LoadBalancerMoved, finding.LoadBalancerAdopted, finding.LoadBalancerReturned, finding.AdoptionReady:
		e.Warning, e.Once, e.Reason = false, true, string(x.Reason)
	case finding.CertificatePending, finding.AdoptionRefused, finding.AdoptionDiffers:
		e.Reason = string(x.Reason)
	default:
		if x.Severity == finding.Warning && x.Blocks == finding.BlocksNothing {
			// Advice must not ring alerts on builds that failed.
			e.Reason = string(x.Reason)
		}
	}
	return e, true
}

// statuses shows the load balancer's name on every member. A blocked member that shows nothing
// yet is not served, and keeps showing nothing.
func statuses(v *cluster.View, o engine.Outcome, k Kind) []cluster.Patch {
	n := Names{LoadBalancer: o.DNSNames[model.LoadBalancerID], Frontend: o.DNSNames[model.FrontendNLBID]}
	n.Ports = ListenerPorts(o)
	if n.LoadBalancer == "" || len(n.Ports) == 0 || o.Stack.Held.Everything {
		return nil
	}
	var out []cluster.Patch
	for _, m := range o.Stack.Members {
		if showsOtherStack(o, m.Ref) {
			continue
		}
		if (m.Blocked || o.Findings.On(m.Ref).Reach() >= finding.BlocksMember) && !k.Shows(v, m) {
			continue
		}
		if fields := k.Status(v, m, n); fields != nil {
			out = append(out, cluster.ObjectStatus{Ref: RefTo(m.Ref), Fields: fields})
		}
	}
	return out
}

// ListenerPorts returns the ports on which the load balancer that clients use listens after a run.
func ListenerPorts(o engine.Outcome) []int32 {
	ports := slices.Clone(o.Plan.Ports)
	if len(o.Plan.Shown) == 0 {
		ports = slices.DeleteFunc(ports, func(port int32) bool { return isNotCreated(o, port) })
	}
	return ports
}

// PlanTooLarge returns the event of a plan for which the annotations of an object have no room.
func PlanTooLarge(ref finding.Ref, annotation string, size int, fix string) cluster.Event {
	e, _ := Event(finding.Finding{
		Object: ref, Field: annotation, Reason: finding.PlanTooLarge,
		Message: fmt.Sprintf("the plan has %d bytes, for which the annotations of the object have no room, so it is not shown", size),
		Fix:     fix,
	}, nil)
	return e
}

// showsOtherStack reports whether the status of a member shows the load balancer of another stack, from which it comes
// or to which it goes.
func showsOtherStack(o engine.Outcome, ref finding.Ref) bool {
	return slices.Contains(o.Plan.Unshown, ref) ||
		slices.ContainsFunc(o.Stack.Leavers, func(d model.Departure) bool { return d.Member == ref })
}

// isNotCreated reports whether a listener is to be made and was not: AWS refuses it or something that comes before it,
// or it waits.
func isNotCreated(o engine.Outcome, port int32) bool {
	return slices.ContainsFunc(o.Plan.Steps, func(s plan.Step) bool {
		do, ok := s.Do.(plan.CreateListener)
		return ok && do.Settings.Port == port && do.LoadBalancer.ID != model.FrontendNLBID && !o.CarriedOut[s.ID]
	})
}
