package bindingplan

import (
	"fmt"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TargetGroup has the properties of a target group that a binding needs. These do not change while the target group exists.
type TargetGroup struct {
	ARN         string
	Type        model.TargetType
	Protocol    string
	AddressType model.AddressType
	VPC         string
}

// CompleteBinding returns a copy of a binding in which unset fields have the properties of the target group.
func (g TargetGroup) CompleteBinding(b *elbv2.TargetGroupBinding) *elbv2.TargetGroupBinding {
	out := b.DeepCopy()
	s := &out.Spec
	s.TargetGroupARN = g.ARN
	if s.TargetType == nil {
		t := elbv2.TargetType(g.Type)
		s.TargetType = &t
	}
	if s.TargetGroupProtocol == nil && g.Protocol != "" {
		t := elbv2.Protocol(g.Protocol)
		s.TargetGroupProtocol = &t
	}
	if s.IPAddressType == nil {
		t := g.addressType()
		s.IPAddressType = &t
	}
	if s.VpcID == "" {
		s.VpcID = g.VPC
	}
	return out
}

// addressType returns the address type of the target group. Old target groups have none, which means IPv4.
func (g TargetGroup) addressType() elbv2.TargetGroupIPAddressType {
	if g.AddressType == "" {
		return elbv2.TargetGroupIPAddressTypeIPv4
	}
	return elbv2.TargetGroupIPAddressType(g.AddressType)
}

// NeedsCompletion reports whether unset fields of the stored binding must be read from AWS. They are read if the binding is
// new, or if it cannot be used without these fields. In a binding of another controller, unset fields mean the defaults.
func (f *Facts) NeedsCompletion() bool {
	return IsUnusable(f.StoredBinding) || f.StoredBinding.DeletionTimestamp == nil && !f.hasFinalizer() && IsIncomplete(f.StoredBinding)
}

// isCompletedBy reports whether the defaults of the unset fields in the stored binding equal the values in whole, the
// completed binding. If so, the values need not be written.
func (f *Facts) isCompletedBy(whole *elbv2.TargetGroupBinding) bool {
	b := f.StoredBinding.Spec
	return (b.IPAddressType != nil || *whole.Spec.IPAddressType == elbv2.TargetGroupIPAddressTypeIPv4) &&
		(b.VpcID != "" || whole.Spec.VpcID == f.Options.VPC) &&
		(b.TargetGroupProtocol != nil || !targets.IsQUIC(whole))
}

// IsIncomplete reports whether a binding has unset fields that CompleteSpec sets.
func IsIncomplete(b *elbv2.TargetGroupBinding) bool {
	s := b.Spec
	return s.TargetGroupARN == "" || s.TargetType == nil || s.TargetGroupProtocol == nil || s.IPAddressType == nil || s.VpcID == ""
}

// IsUnusable reports whether a binding lacks the ARN of its target group or the target type.
func IsUnusable(b *elbv2.TargetGroupBinding) bool {
	return b.Spec.TargetGroupARN == "" || b.Spec.TargetType == nil
}

// completeBinding plans to write properties of the target group into unset fields of the binding. Other programs, the
// webhook for pods and later runs read these fields.
func (p *planner) completeBinding() {
	if p.SpecCompleted || p.FinalizerAdded || !p.NeedsCompletion() || IsIncomplete(p.CompletedBinding) || !IsUnusable(p.StoredBinding) && p.isCompletedBy(p.CompletedBinding) {
		return
	}
	p.addStep(CompleteSpec{p.CompletedBinding.Spec}, "unset fields of the binding are read from AWS")
}

// contradictionFinding returns the finding about a field of a binding that differs from its target group; nil if there is
// none. With such a field, AWS would refuse the targets, or the targets would be in another network.
func (g TargetGroup) contradictionFinding(b *elbv2.TargetGroupBinding) *finding.Finding {
	differs := func(field string, given, actual any) *finding.Finding {
		return &finding.Finding{
			Object: targets.BindingRef(b), Field: field, Reason: finding.TargetGroupDiffers, Severity: finding.Error,
			Message: fmt.Sprintf("%q is set but the target group has %q; the targets stay unchanged", given, actual),
			Fix:     "replace the binding by one with the value of the target group, or without the field",
		}
	}
	s := b.Spec
	switch {
	case s.TargetType != nil && string(*s.TargetType) != string(g.Type):
		return differs("spec.targetType", *s.TargetType, g.Type)
	case s.IPAddressType != nil && *s.IPAddressType != g.addressType():
		return differs("spec.ipAddressType", *s.IPAddressType, g.addressType())
	case s.VpcID != "" && s.VpcID != g.VPC:
		return differs("spec.vpcID", s.VpcID, g.VPC)
	}
	return nil
}

// ignoredSettings returns findings about settings of a binding that have no effect.
func (g TargetGroup) ignoredSettings(b *elbv2.TargetGroupBinding) (out finding.List) {
	s := b.Spec
	warn := func(field string, reason finding.Reason, message, fix string) {
		out.Add(finding.Finding{Object: targets.BindingRef(b), Field: field, Reason: reason, Severity: finding.Warning, Message: message, Fix: fix})
	}
	if p := s.TargetGroupProtocol; p != nil && string(*p) != g.Protocol {
		warn("spec.targetGroupProtocol", finding.TargetGroupDiffers,
			fmt.Sprintf("%q is set but the target group has %q; load balancers use the value of the target group", *p, g.Protocol), "correct the field")
	}
	if s.NodeSelector != nil && !targets.HasInstanceTargets(b) {
		warn("spec.nodeSelector", finding.Unsupported, "a node selector applies only to targets of type instance; it is ignored", "remove the field")
	}
	return out
}
