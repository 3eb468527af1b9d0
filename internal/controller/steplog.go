package controller

import (
	"fmt"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// logStep logs the result of a step. The first failure of a step is logged as an error. Transient and repeated failures are
// logged at the debug level.
func logStep(log logr.Logger, id model.StackID, r plan.StepResult, f engine.FailedStep) {
	s := f.Step
	keys := []any{"stack", id.String(), "stackID", id.String(), "resourceID", s.Address.ID, "step", string(s.ID), "why", s.Why}
	if r.ID != "" {
		keys = append(keys, "arn", r.ID)
	}
	if len(s.Changes) > 0 {
		var changes []string
		for _, c := range s.Changes {
			changes = append(changes, c.String())
		}
		keys = append(keys, "changes", changes)
	}
	if r.Note != "" {
		keys = append(keys, "note", r.Note)
	}
	if f.Err == nil {
		for _, message := range completedStepMessages(s) {
			log.Info(message, keys...)
		}
		return
	}
	keys = append(keys, "objects", objectNames(s.RequestedBy))
	message := "failed to " + string(s.Verb) + " " + changedPartText(s)
	switch {
	case f.IsTransient():
		log.V(1).Info("will retry "+changedPartText(s), append(keys, "verb", string(s.Verb), "err", f.Err.Error())...)
	case f.Streak > 1:
		log.V(1).Info(message, append(keys, "err", f.Err.Error(), "refusals", f.Streak)...)
	default:
		log.Error(f.Err, message, keys...)
	}
}

// maxLoggedObjects is the maximum number of objects that a log line names.
const maxLoggedObjects = 10

// objectNames returns the names of the first objects, and the number of the remaining objects if there are more than
// maxLoggedObjects.
func objectNames(refs []finding.Ref) (out []string) {
	for i, r := range refs {
		if i == maxLoggedObjects {
			return append(out, fmt.Sprintf("%d more", len(refs)-i))
		}
		out = append(out, r.String())
	}
	return out
}

// completedStepMessages returns the log messages of a step that was carried out.
func completedStepMessages(s plan.Step) []string {
	switch do := s.Do.(type) {
	case plan.SetTags:
		return textsOfParts(len(do.Put), "added tags", len(do.Remove), "removed tags")
	case plan.ChangeIngress:
		return textsOfParts(len(do.Authorize), "authorized security group rules", len(do.Revoke), "revoked security group rules")
	}
	return []string{map[plan.Verb]string{plan.Create: "created ", plan.Update: "changed ", plan.Delete: "deleted "}[s.Verb] + changedPartText(s)}
}

// textsOfParts returns a list with the text first if n is above zero, and the text second if m is above zero.
func textsOfParts(n int, first string, m int, second string) (out []string) {
	if n > 0 {
		out = append(out, first)
	}
	if m > 0 {
		out = append(out, second)
	}
	return out
}

// changedPartText returns the text for the resource of a step in log messages, or for the part of the resource that the step
// changes.
func changedPartText(s plan.Step) string {
	noun := resourceNoun(s.Address.Kind)
	switch s.Do.(type) {
	case plan.SetTags:
		return noun + " tags"
	case plan.ChangeIngress:
		return noun + " rules"
	case plan.SetAttributes:
		return noun + " attributes"
	case plan.SetHealthCheck:
		return noun + " health check"
	case plan.SetAddressType:
		return noun + " address type"
	case plan.SetSubnets:
		return noun + " subnets"
	case plan.SetSecurityGroups:
		return noun + " security groups"
	case plan.SetIPAMPool:
		return noun + " IPAM pool"
	case plan.SetCapacity:
		return noun + " capacity reservation"
	case plan.AddCertificate, plan.RemoveCertificate:
		return noun + " certificates"
	case plan.SetPriorities:
		return noun + " priorities"
	}
	return noun
}

// resourceNoun returns the text for a kind of resource in log messages.
func resourceNoun(k plan.ResourceKind) string {
	switch k {
	case plan.LoadBalancer:
		return "load balancer"
	case plan.TargetGroup:
		return "target group"
	case plan.Rule:
		return "listener rule"
	case plan.SecurityGroup, plan.BackendSecurityGroup:
		return "security group"
	case plan.Binding:
		return "TargetGroupBinding"
	}
	return string(k)
}

// logChange logs a change of targets, or of the security group rules that admit traffic to targets.
func logChange(log logr.Logger, d bindings.Change) {
	switch d.Kind {
	case bindings.TargetsRegistered:
		log.Info("registered targets", "arn", d.Resource, "targets", d.Items)
	case bindings.TargetsDeregistered:
		log.Info("deregistered targets", "arn", d.Resource, "targets", d.Items)
	case bindings.RulesAuthorized:
		log.Info("authorized security group rules", "securityGroupID", d.Resource, "permission", d.Items)
	case bindings.RulesRevoked:
		log.Info("revoked security group rules", "securityGroupID", d.Resource, "permission", d.Items)
	}
}
