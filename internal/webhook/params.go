package webhook

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// The names of the checks of IngressClassParams in metrics.
const (
	inboundCIDRsCheck    = "checkInboundCIDRs"
	subnetSelectorsCheck = "checkSubnetSelectors"
)

// validateParams denies IngressClassParams with invalid address ranges or subnets. The answer lists all errors.
func (c Config) validateParams(_ context.Context, r Request) (Response, error) {
	p := &v1beta1.IngressClassParams{}
	if err := r.decode(r.Object, p); err != nil {
		return Response{}, err
	}
	if p.DeletionTimestamp != nil {
		return Response{}, nil
	}
	spec := field.NewPath("spec")
	ranges := validateInboundCIDRs(spec.Child("inboundCIDRs"), p.Spec.InboundCIDRs)
	subnets := validateSubnetSelector(spec.Child("subnets"), p.Spec.Subnets)
	faults := append(ranges, subnets...)
	if len(faults) == 0 {
		return Response{}, nil
	}
	check := subnetSelectorsCheck
	if len(ranges) > 0 {
		check = inboundCIDRsCheck
	}
	return deny(check, "%s", faults.ToAggregate().Error()), nil
}

// validateInboundCIDRs returns the errors of the address ranges of clients, with suggestions.
func validateInboundCIDRs(path *field.Path, cidrs []string) field.ErrorList {
	var out field.ErrorList
	for i, cidr := range cidrs {
		p, err := netip.ParsePrefix(cidr)
		switch {
		case err == nil && p != p.Masked():
			out = append(out, field.Invalid(path.Index(i), cidr, fmt.Sprintf("has bits beyond its prefix; did you mean %s?", p.Masked())))
		case err != nil:
			detail := "is not an address range such as 10.0.0.0/8"
			if a, err := netip.ParseAddr(cidr); err == nil {
				detail += fmt.Sprintf("; did you mean %s/%d?", a, a.BitLen())
			}
			out = append(out, field.Invalid(path.Index(i), cidr, detail))
		}
	}
	return out
}

// validateSubnetSelector returns the errors of a subnet selector, which needs either IDs or tags and must not contain
// duplicate values.
func validateSubnetSelector(path *field.Path, s *v1beta1.SubnetSelector) field.ErrorList {
	var out field.ErrorList
	switch {
	case s == nil:
		return nil
	case s.IDs == nil && s.Tags == nil:
		return append(out, field.Required(path, "needs ids or tags"))
	case s.IDs != nil && s.Tags != nil:
		return append(out, field.Forbidden(path.Child("tags"), "ids and tags cannot both be set"))
	case s.Tags != nil && len(s.Tags) == 0:
		return append(out, field.Required(path.Child("tags"), "needs at least one tag"))
	}
	for i, id := range s.IDs {
		if slices.Contains(s.IDs[:i], id) {
			out = append(out, field.Duplicate(path.Child("ids").Index(i), string(id)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		for i, value := range s.Tags[key] {
			if slices.Contains(s.Tags[key][:i], value) {
				out = append(out, field.Duplicate(path.Child("tags").Key(key).Index(i), value))
			}
		}
	}
	return out
}
