package accelerator

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
	"github.com/fulcrum-lb/fulcrum/internal/translate/report"
)

// Reasons of events. They are the same as in aws-load-balancer-controller, because users have alerts for them.
const (
	eventEndpoints    = "WarningEndpoints"
	eventDeploy       = "FailedDeploy"
	eventEndpointLoad = "FailedEndpointLoad"
	eventCleanup      = "FailedCleanup"
)

// Report returns events about findings and success, and a patch for the status of the GlobalAccelerator.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	var out []cluster.Patch
	for _, x := range slices.Concat(o.Findings.Sorted(), o.Drift.Sorted()) {
		if e, ok := eventOf(x, o); ok {
			out = append(out, e)
		}
	}
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, o.ID.Namespace, o.ID.Name)
	if !ok || len(o.Stack.Members)+len(o.Stack.Leaving) == 0 || wasReleased(o) {
		return out
	}
	next := statusOf(o, ga)
	if next.ready == metav1.ConditionTrue && next.hasAllEndpoints() && !hasSucceeded(ga) {
		out = append(out, cluster.Event{Ref: cluster.RefOf(ga), Reason: report.EventReconciled, Message: "Successfully reconciled"})
	}
	if e := addressChangeEvent(next.live, ga); e != nil && !next.isGuest {
		out = append(out, *e)
	}
	return append(out, cluster.StatusEdit{Ref: cluster.RefOf(ga), Edit: func(obj cluster.Object, now metav1.Time) any {
		return next.changedFields(obj.(*aga.GlobalAccelerator).Status, now)
	}})
}

// eventOf returns the event about a finding, with the reason that aws-load-balancer-controller uses. It returns false if
// the finding needs no event.
func eventOf(x finding.Finding, o engine.Outcome) (cluster.Event, bool) {
	e, ok := report.Event(x, o.Stack.Leaving)
	switch {
	case !ok || !e.Warning && !e.Once && !o.Changed:
		return e, false
	case isLeftOutEndpoint(x):
		e.Reason = eventEndpoints
	case e.Reason == "FailedDeployModel" && len(o.Stack.Leaving) > 0:
		e.Reason = eventCleanup
	case e.Reason == "FailedDeployModel" && o.Err != nil && o.FailedPhase == engine.ObservePhase:
		e.Reason = eventEndpointLoad
	case e.Reason == "FailedDeployModel":
		e.Reason = eventDeploy
	}
	return e, true
}

// addressChangeEvent returns an event if the IPv4 addresses of the accelerator differ from those in the status, and nil
// otherwise. Users may have the old addresses in firewalls and DNS records.
func addressChangeEvent(live *observed.Accelerator, ga *aga.GlobalAccelerator) *cluster.Event {
	if live == nil {
		return nil
	}
	var was, is []string
	for _, s := range ga.Status.IPSets {
		if s.IPAddressFamily == ipv4 {
			was = append(was, s.IPAddresses...)
		}
	}
	for _, s := range live.Addresses {
		if s.Family == ipv4 {
			is = append(is, s.Addresses...)
		}
	}
	if len(was) == 0 || len(is) == 0 || slices.Equal(slices.Sorted(slices.Values(was)), slices.Sorted(slices.Values(is))) {
		return nil
	}
	return &cluster.Event{
		Ref: cluster.RefOf(ga), Warning: true, Reason: string(finding.AcceleratorRecreated),
		Message: finding.EscapeNonPrintable(fmt.Sprintf("the accelerator has the addresses %s instead of %s; update firewalls and DNS records that have the old addresses", strings.Join(is, ", "), strings.Join(was[:min(len(was), rules.MaxAddresses)], ", "))),
	}
}

// ipv4 is the name of the IPv4 address family in the API of Global Accelerator.
const ipv4 = "IPv4"

// isLeftOutEndpoint reports whether a finding is about an endpoint that is left out.
func isLeftOutEndpoint(x finding.Finding) bool {
	switch x.Reason {
	case finding.EndpointNotFound, finding.EndpointNotReady, finding.EndpointElsewhere, finding.ReferenceNotPermitted, finding.Unsupported:
		return true
	case finding.SpecInvalid: // an error if it is not about an endpoint
		return x.Severity == finding.Warning
	}
	return false
}

// wasReleased reports whether the run removed the finalizer of the object. Then the object may no longer exist.
func wasReleased(o engine.Outcome) bool {
	return slices.ContainsFunc(o.Plan.Steps, func(s plan.Step) bool {
		_, release := s.Do.(plan.ReleaseFinalizer)
		return release && o.CarriedOutSteps[s.ID]
	})
}

// hasSucceeded reports whether the status already says that the current generation is deployed with all its endpoints.
func hasSucceeded(ga *aga.GlobalAccelerator) bool {
	of := ga.Status.ObservedGeneration
	return of != nil && *of == ga.Generation && slices.ContainsFunc(ga.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == conditionReady && c.Status == metav1.ConditionTrue
	}) && !slices.ContainsFunc(ga.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == conditionEndpoints && c.Status != metav1.ConditionTrue
	})
}
