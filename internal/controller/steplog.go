package controller

import (
	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// logStep writes a line per step that was carried out. Messages and keys are those that operators
// search for.
func logStep(log logr.Logger, class func(plan.Step, error) engine.Class) func(model.StackID, plan.Step, plan.Result, error) {
	return func(id model.StackID, s plan.Step, r plan.Result, err error) {
		log := log
		keys := []any{"stackID", id.String(), "resourceID", s.Address.ID, "step", string(s.ID), "why", s.Why}
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
		if err != nil {
			switch class(s, err) {
			case engine.InUse, engine.NotReady, engine.Gone, engine.Conflict:
				log = log.V(1) // these pass by themselves
			}
			log.Info("failed to "+string(s.Verb)+" "+partOf(s), append(keys, "error", err.Error())...)
			return
		}
		for _, message := range done(s) {
			log.Info(message, keys...)
		}
	}
}

// done says what was done, in words that operators know.
func done(s plan.Step) []string {
	switch do := s.Do.(type) {
	case plan.SetTags:
		return either(len(do.Put), "added resource tags", len(do.Remove), "removed resource tags")
	case plan.ChangeIngress:
		return either(len(do.Authorize), "authorized securityGroup ingress", len(do.Revoke), "revoked securityGroup ingress")
	}
	return []string{map[plan.Verb]string{plan.Create: "created ", plan.Update: "modified ", plan.Delete: "deleted "}[s.Verb] + partOf(s)}
}

func either(n int, first string, m int, second string) (out []string) {
	if n > 0 {
		out = append(out, first)
	}
	if m > 0 {
		out = append(out, second)
	}
	return out
}

// partOf names what a step is about: a resource, or the part of it that is changed.
func partOf(s plan.Step) string {
	noun := nounOf(s.Address.Kind)
	switch s.Do.(type) {
	case plan.SetTags:
		return noun + " tags"
	case plan.ChangeIngress:
		return noun + " ingress"
	case plan.SetAttributes:
		return noun + " attributes"
	case plan.SetHealthCheck:
		return noun + " healthCheck"
	case plan.SetAddressType:
		return noun + " ipAddressType"
	case plan.SetSubnets:
		return noun + " subnetMappings"
	case plan.SetSecurityGroups:
		return noun + " securityGroups"
	case plan.SetIPAMPool:
		return noun + " ipamPool"
	case plan.SetCapacity:
		return noun + " capacity reservation"
	case plan.AddCertificate, plan.RemoveCertificate:
		return noun + " certificates"
	case plan.SetPriorities:
		return noun + " priorities"
	}
	return noun
}

func nounOf(k plan.ResourceKind) string {
	switch k {
	case plan.LoadBalancer:
		return "loadBalancer"
	case plan.TargetGroup:
		return "targetGroup"
	case plan.Rule:
		return "listener rule"
	case plan.SecurityGroup, plan.BackendGroup:
		return "securityGroup"
	case plan.Binding:
		return "targetGroupBinding"
	}
	return string(k)
}

// logDeed writes a line per change of targets, and of the rules in front of them.
func logDeed(log logr.Logger) func(bindings.Deed) {
	return func(d bindings.Deed) {
		switch d.Kind {
		case bindings.Registered:
			log.Info("registered targets", "arn", d.On, "targets", d.Items)
		case bindings.Deregistered:
			log.Info("deregistered targets", "arn", d.On, "targets", d.Items)
		case bindings.Authorized:
			log.Info("authorized securityGroup ingress", "securityGroupID", d.On, "permission", d.Items)
		case bindings.Revoked:
			log.Info("revoked securityGroup ingress", "securityGroupID", d.On, "permission", d.Items)
		}
	}
}
