package accelerator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Conditions and their reasons. They are the same as in aws-load-balancer-controller, except for conditionEndpoints,
// which aws-load-balancer-controller does not have.
const (
	conditionReady     = "Ready"
	conditionDisabling = "AcceleratorDisabling"
	conditionEndpoints = "EndpointsLoaded"

	reasonReady        = "AcceleratorReady"
	reasonProvisioning = "AcceleratorProvisioning"
	reasonDeleting     = "AcceleratorDeleting"
	reasonDisabling    = "AcceleratorDisabling"
	reasonLoadFailed   = "EndpointLoadFailed"
	reasonBuildFailed  = "ModelBuildFailed"
	reasonDeployFailed = "DeploymentFailed"
)

// statusDeleting is the value of field status.status while the accelerator is being deleted.
const statusDeleting = "DELETING"

// maxMessageLength is the maximum length of the message of a condition, in characters.
const maxMessageLength = 1024

// desiredStatus is the desired status of a GlobalAccelerator.
type desiredStatus struct {
	generation int64
	// arn is the ARN of the accelerator, or "" if there is none. arnKnown reports whether arn is known. If it is not known,
	// the ARN in the status is not changed.
	arn      string
	arnKnown bool
	// live is the accelerator in AWS, or nil if it is not known. state is the value of field status.status. If it is empty,
	// the field is not changed.
	live  *observed.Accelerator
	state string
	// ready is the status of condition Ready. If it is empty, the condition is not changed.
	ready           metav1.ConditionStatus
	reason, message string
	// leftOutFindings are the findings about endpoints that are left out. leftOutUnknown reports whether the run ended
	// before these findings were known.
	leftOutFindings finding.List
	leftOutUnknown  bool
	deleting        bool
	// disabled reports whether the accelerator of an object that is being deleted is known to be disabled or deleted. An
	// accelerator that is retained, for example by a protection annotation, is enabled.
	disabled bool
	// isGuest reports whether the object has endpoint groups in the accelerator of another owner. Then live is the
	// accelerator of the other owner.
	isGuest bool
}

// hasAllEndpoints reports whether no endpoint is left out.
func (n desiredStatus) hasAllEndpoints() bool {
	return len(n.leftOutFindings) == 0 && !n.leftOutUnknown
}

// leftOutText returns the messages about all endpoints that are left out. If the messages exceed the length of a
// condition message, the fields of these endpoints come first, because the end is cut off later.
func (n desiredStatus) leftOutText() string {
	var texts, fields []string
	for _, x := range n.leftOutFindings {
		texts = append(texts, x.TextWithField())
		group, index, _ := strings.Cut(x.Field, "endpoints[")
		if last := len(fields) - 1; last >= 0 && strings.HasPrefix(fields[last], group+"endpoints[") {
			fields[last] = strings.TrimSuffix(fields[last], "]") + "," + index
		} else {
			fields = append(fields, x.Field)
		}
	}
	all := strings.Join(texts, " ")
	if len(all) <= maxMessageLength {
		return all
	}
	return fmt.Sprintf("%d endpoints are left out: %s. %s", len(n.leftOutFindings), strings.Join(fields, ", "), all)
}

// statusOf returns the desired status of a GlobalAccelerator after a run of its stack.
func statusOf(o engine.Outcome, ga *aga.GlobalAccelerator) desiredStatus {
	n := desiredStatus{generation: ga.Generation, deleting: ga.DeletionTimestamp != nil, leftOutUnknown: o.Err != nil || o.Deferred}
	n.arn = o.Plan.KnownIDs[plan.AcceleratorAddress]
	if made := o.LiveLoadBalancers[model.AcceleratorID].ARN; made != "" {
		n.arn = made
	}
	// The status keeps the ARN of a deleted accelerator until there is another one.
	n.arnKnown = o.Err == nil && (n.arn != "" || o.Have.Facts.RecordedAccelerator != observed.RecordedMissing)
	for i := range o.Have.Accelerators {
		if a := &o.Have.Accelerators[i]; a.ARN == n.arn && n.arn != "" {
			n.live, n.state = a, a.State
		}
	}
	if n.isGuest = o.Stack.Accelerator != nil && o.Stack.Accelerator.Shared != ""; n.isGuest {
		n.live = o.Have.SharedAccelerator
	}
	if o.Changed && n.arn != "" {
		n.state = observed.AcceleratorInProgress
	}
	if n.live != nil {
		n.disabled = !n.live.Enabled || o.CarriedOutSteps[plan.NewStepID("disable", plan.AcceleratorAddress)]
	} else {
		n.disabled = o.Err == nil
	}
	var failed, built []string
	for _, x := range o.Findings.Sorted() {
		switch {
		case isLeftOutEndpoint(x):
			n.leftOutFindings = append(n.leftOutFindings, x)
		case x.Severity != finding.Error:
		case isDeployReason(x.Reason):
			failed = append(failed, x.TextWithField())
		default:
			built = append(built, x.TextWithField())
		}
	}
	switch {
	case n.deleting:
		n.ready, n.reason, n.message = metav1.ConditionFalse, reasonDeleting, "the accelerator is being deleted"
		if n.isGuest {
			n.message = "the endpoint groups are being deleted"
		}
		if len(failed)+len(built) > 0 {
			n.message = strings.Join(append(failed, built...), " ")
		}
		if n.arn != "" && n.disabled {
			n.state = statusDeleting
		}
	case o.Err != nil && len(failed) == 0:
		// The run was postponed by the rate limiter, or AWS throttles calls. The condition is not changed.
	case o.Err != nil && o.FailedPhase == engine.ObservePhase:
		n.ready, n.reason, n.message = metav1.ConditionFalse, reasonLoadFailed, strings.Join(failed, " ")
	case len(failed) > 0:
		n.ready, n.reason, n.message = metav1.ConditionFalse, reasonDeployFailed, strings.Join(failed, " ")
	case len(built) > 0:
		n.ready, n.reason, n.message = metav1.ConditionFalse, reasonBuildFailed, strings.Join(built, " ")
	case slices.ContainsFunc(o.Findings, func(x finding.Finding) bool { return x.Reason == finding.ChangedTooOften }):
		n.ready, n.reason, n.message = metav1.ConditionUnknown, reasonProvisioning, "the last change is delayed, because the object or an object that it refers to changes too often"
	case n.isGuest && (o.Changed || !o.Done): // the state of the accelerator is ignored, because changes of other owners affect it
		n.ready, n.reason, n.message = metav1.ConditionUnknown, reasonProvisioning, "the endpoint groups are being changed"
	case n.isGuest:
		n.ready, n.reason, n.message = metav1.ConditionTrue, reasonReady, "the endpoint groups are in the accelerator of another owner"
	case n.lacksPorts(o.Stack.Accelerator):
		n.ready, n.reason, n.message = metav1.ConditionUnknown, reasonProvisioning, "protocol and ports are not known yet, because the endpoint has no load balancer"
	case n.arn == "" || n.state != observed.AcceleratorDeployed:
		n.ready, n.reason, n.message = metav1.ConditionUnknown, reasonProvisioning, "AWS is deploying the accelerator"
	default:
		n.ready, n.reason, n.message = metav1.ConditionTrue, reasonReady, "the accelerator is deployed"
	}
	return n
}

// lacksPorts reports whether no listener is known, because the only endpoint has no load balancer from which protocol and
// ports are taken. The result must not reveal whether a hostname belongs to a load balancer that may not be an endpoint.
func (n desiredStatus) lacksPorts(a *model.Accelerator) bool {
	return a != nil && a.Held && len(a.Listeners) == 0 && (a.Pending || n.arn == "" && len(n.leftOutFindings) > 0)
}

// isDeployReason reports whether findings with reason r are about the deployment: failed calls to AWS or to the API
// server.
func isDeployReason(r finding.Reason) bool {
	switch r {
	case finding.AccessDenied, finding.QuotaReached, finding.RejectedByAWS, finding.CallFailed, finding.ServiceUnavailable, finding.NameTaken, finding.ChangeNotKept:
		return true
	}
	return false
}

// changedFields returns the status fields that differ from the desired status, with their desired values, or nil if
// there are none. The value nil removes a field.
func (n desiredStatus) changedFields(have aga.GlobalAcceleratorStatus, now metav1.Time) any {
	fields := map[string]any{}
	set := func(key, is, want string) {
		switch {
		case is == want:
		case want == "":
			fields[key] = nil
		default:
			fields[key] = want
		}
	}
	if have.ObservedGeneration == nil || *have.ObservedGeneration != n.generation {
		fields["observedGeneration"] = n.generation
	}
	if n.arnKnown {
		set("acceleratorARN", have.AcceleratorARN, n.arn)
	}
	a := n.live
	if a == nil && n.arnKnown && n.arn == "" {
		a = &observed.Accelerator{} // there is no accelerator, so the status must show no name and no addresses
	}
	if a != nil {
		set("dnsName", have.DNSName, a.DNSName)
		set("dualStackDnsName", have.DualStackDNSName, a.DualStackDNSName)
		var sets []aga.IPSet
		for _, s := range a.Addresses {
			sets = append(sets, aga.IPSet{IPAddressFamily: s.Family, IPAddresses: s.Addresses})
		}
		if (len(sets) > 0 || (n.isGuest || n.live == nil) && len(have.IPSets) > 0) && !equality.Semantic.DeepEqual(sets, have.IPSets) {
			fields["ipSets"] = sets
		}
	}
	if n.state != "" {
		set("status", have.Status, n.state)
	}
	conditions := slices.Clone(have.Conditions)
	if n.ready != "" {
		conditions = n.setCondition(conditions, conditionReady, n.ready, n.reason, n.message, now)
	}
	if n.deleting && (n.isGuest || !n.disabled) {
		// The accelerator belongs to another owner, or it is retained.
	} else if n.deleting {
		conditions = n.setCondition(conditions, conditionDisabling, metav1.ConditionTrue, reasonDisabling, "the accelerator no longer accepts traffic", now)
	} else if !n.leftOutUnknown {
		status, reason, message := metav1.ConditionTrue, conditionEndpoints, "all endpoints are loaded"
		if len(n.leftOutFindings) > 0 {
			status, reason, message = metav1.ConditionFalse, eventEndpoints, n.leftOutText()
		}
		conditions = n.setCondition(conditions, conditionEndpoints, status, reason, message, now)
	}
	if !equality.Semantic.DeepEqual(conditions, have.Conditions) {
		fields["conditions"] = conditions
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// setCondition adds or replaces a condition. Its transition time changes only with its status.
func (n desiredStatus) setCondition(to []metav1.Condition, of string, status metav1.ConditionStatus, reason, message string, now metav1.Time) []metav1.Condition {
	c := metav1.Condition{
		Type: of, Status: status, Reason: reason, Message: finding.Truncate(finding.EscapeNonPrintable(message), maxMessageLength),
		ObservedGeneration: n.generation, LastTransitionTime: now,
	}
	i := slices.IndexFunc(to, func(h metav1.Condition) bool { return h.Type == of })
	if i < 0 {
		return slices.SortedFunc(slices.Values(append(to, c)), func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	}
	if to[i].Status == status {
		c.LastTransitionTime = to[i].LastTransitionTime
	}
	to[i] = c
	return to
}
