package ingress

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// The reasons of events. They are those that older controllers gave, since alerts are built on
// them; the message begins with the reason of the finding.
const (
	eventReconciled = "SuccessfullyReconciled"
	eventLoad       = "FailedLoadGroupID"
	eventClaim      = "FailedAddFinalizer"
	eventBuild      = "FailedBuildModel"
	eventDeploy     = "FailedDeployModel"
	eventRelease    = "FailedRemoveFinalizer"
)

// Report writes the status of the members, the plan, and an event for each finding on the object to
// blame, and for success where something changed.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	var out []cluster.Patch
	for _, x := range o.Findings.Sorted() {
		// What is only waited for is news when something has moved.
		if e, ok := eventOf(x, o.Stack.Leaving); ok && (e.Warning || e.Once || o.Changed) {
			out = append(out, e)
		}
	}
	out = append(out, statuses(v, o)...)
	if o.Changed && (o.Done || len(o.Failed) > 0) && !o.Stack.Held.Everything {
		for _, m := range o.Stack.Members {
			if !m.Blocked && !faulty(o, m.Ref) {
				out = append(out, cluster.Event{Ref: refTo(m.Ref), Reason: eventReconciled, Message: "Successfully reconciled"})
			}
		}
	}
	return append(out, f.plans(v, o)...)
}

// faulty says whether something of the object is held, lost to another member, or could not be
// carried out.
func faulty(o engine.Outcome, ref finding.Ref) bool {
	return slices.ContainsFunc(o.Findings.On(ref), func(f finding.Finding) bool { return f.Severity == finding.Error }) || slices.ContainsFunc(o.Failed, func(f engine.FailedStep) bool {
		return slices.Contains(f.Step.Blames, ref)
	})
}

func refTo(r finding.Ref) cluster.Ref {
	return cluster.Ref{Kind: cluster.Kind(r.Kind), Namespace: r.Namespace, Name: r.Name}
}

func eventOf(x finding.Finding, leaving []model.Member) (cluster.Event, bool) {
	if x.Object.IsZero() || x.Object.Namespace == "" {
		return cluster.Event{}, false
	}
	e := cluster.Event{Ref: refTo(x.Object), Warning: true, Fault: x.Severity == finding.Error, Reason: eventBuild, Message: string(x.Reason) + ": " + x.Text()}
	if x.Field != "" {
		e.Message = string(x.Reason) + ": " + x.Field + ": " + x.Text()
	}
	switch x.Reason {
	case finding.IngressClassInvalid, finding.NamespaceNotAllowed, finding.GroupNameInvalid, finding.GroupOrderInvalid:
		e.Reason = eventLoad
	case finding.AccessDenied, finding.QuotaReached, finding.RejectedByAWS, finding.NameTaken, finding.RemovalNotTrusted, finding.CallFailed:
		e.Reason = eventDeploy
		if x.Field == string(plan.Finalizer) {
			e.Reason = eventClaim
			if slices.ContainsFunc(leaving, func(m model.Member) bool { return m.Ref == x.Object }) {
				e.Reason = eventRelease
			}
		}
	case finding.WaitingForTargets:
		e.Warning, e.Reason = false, string(x.Reason)
	case finding.WaitingToDelete:
		e.Warning, e.Once, e.Reason = false, true, string(x.Reason)
	case finding.CertificatePending:
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
func statuses(v *cluster.View, o engine.Outcome) []cluster.Patch {
	ports := slices.DeleteFunc(slices.Clone(o.Plan.Ports), func(port int32) bool { return unmade(o, port) })
	host := o.DNSNames[model.LoadBalancerID]
	if host == "" || len(ports) == 0 || o.Stack.Held.Everything {
		return nil
	}
	entries := []cluster.IngressEntry{{Hostname: host, Ports: ports}}
	if front := o.DNSNames[model.FrontendNLBID]; front != "" {
		entries = append(entries, cluster.IngressEntry{Hostname: front})
	}
	var out []cluster.Patch
	for _, m := range o.Stack.Members {
		if (m.Blocked || o.Findings.On(m.Ref).Reach() >= finding.BlocksMember) && !shown(v, m) {
			continue
		}
		out = append(out, cluster.IngressStatus{Namespace: m.Ref.Namespace, Name: m.Ref.Name, Entries: entries})
	}
	return out
}

// unmade reports whether a listener is to be made and was not: AWS refuses it, or the web ACL that it
// comes after.
func unmade(o engine.Outcome, port int32) bool {
	for _, f := range o.Failed {
		switch do := f.Step.Do.(type) {
		case plan.CreateListener:
			if do.Settings.Port == port && do.LoadBalancer.ID != model.FrontendNLBID {
				return true
			}
		case plan.SetWebACL, plan.SetClassicACL:
			if awaits(o.Plan, port, f.Step.ID) {
				return true
			}
		}
	}
	for _, s := range o.Plan.Steps {
		if s.Waits() && awaits(o.Plan, port, s.ID) {
			return true
		}
	}
	return false
}

// awaits reports whether the listener of a port is made after a step.
func awaits(p plan.Plan, port int32, id plan.StepID) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
		do, ok := s.Do.(plan.CreateListener)
		return ok && do.Settings.Port == port && do.LoadBalancer.ID != model.FrontendNLBID && slices.Contains(s.After, id)
	})
}

func shown(v *cluster.View, m model.Member) bool {
	ing, ok := cluster.Get[*networkingv1.Ingress](v, cluster.KindIngress, m.Ref.Namespace, m.Ref.Name)
	return ok && len(ing.Status.LoadBalancer.Ingress) > 0
}
