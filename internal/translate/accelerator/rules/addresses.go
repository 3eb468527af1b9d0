package rules

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// invalidAddresses returns a violation for each address in spec.ipAddresses that is not an IPv4 address or occurs twice.
func invalidAddresses(s Subject) (out []Violation) {
	for k, text := range s.Spec.IPAddresses {
		wrong := ""
		if a, err := netip.ParseAddr(text); err != nil || !a.Is4() {
			wrong = "is not an IPv4 address"
		} else if slices.Contains(s.Spec.IPAddresses[:k], text) {
			wrong = "occurs twice"
		}
		if wrong != "" {
			out = append(out, Violation{
				Check: IPAddresses, Field: fmt.Sprintf("spec.ipAddresses[%d]", k), Value: text, identity: text,
				Message: fmt.Sprintf("%q %s", finding.TruncateValue(text), wrong), Fix: "set addresses of ranges that were brought to AWS (BYOIP), such as 198.51.100.10",
			})
		}
		if k == MaxAddresses {
			break
		}
	}
	return out
}

// MaxAddresses is the maximum number of addresses of the account (BYOIP) that an accelerator can have. The CRD schema has
// the same limit. invalidAddresses checks only the first MaxAddresses+1 addresses.
const MaxAddresses = 2

// ImmutableFieldChanges returns a violation if spec.ipAddresses of an existing accelerator changes, because addresses take
// effect only when the accelerator is created. Users may still set the addresses that the accelerator already has, or remove
// addresses that had no effect.
func ImmutableFieldChanges(was, now *aga.GlobalAccelerator) []Violation {
	if was.Status.AcceleratorARN == "" || sameAddresses(was.Spec.IPAddresses, now.Spec.IPAddresses) {
		return nil
	}
	var has []string
	for _, set := range was.Status.IPSets {
		has = append(has, set.IPAddresses...)
	}
	lacks := func(in []string) func(string) bool {
		return func(a string) bool { return !slices.Contains(in, a) }
	}
	effective := slices.DeleteFunc(slices.Clone(was.Spec.IPAddresses), lacks(has))
	if !slices.ContainsFunc(now.Spec.IPAddresses, lacks(has)) && !slices.ContainsFunc(effective, lacks(now.Spec.IPAddresses)) {
		return nil
	}
	value := strings.Join(now.Spec.IPAddresses, ", ")
	return []Violation{{
		Check: ImmutableFields, Field: "spec.ipAddresses", Value: value, identity: value,
		Message: fmt.Sprintf("the addresses of an accelerator that exists cannot be changed to %q", finding.TruncateValue(value)),
		Fix:     "restore the field, or create another GlobalAccelerator with these addresses",
	}}
}

// sameAddresses reports whether two lists have the same addresses in any order.
func sameAddresses(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// regionOf returns the region in the ARN of an endpoint, or "" for IDs of instances and addresses.
func regionOf(endpointID string) string {
	parts := strings.SplitN(endpointID, ":", 6)
	if len(parts) == 6 && parts[0] == "arn" {
		return parts[3]
	}
	return ""
}

func wrongEndpointRegions(s Subject) (out []Violation) {
	eachEndpointGroup(s, func(i, j int, group *aga.EndpointGroup) {
		want := cmp.Or(group.Region, s.Region)
		for k, e := range group.Endpoints {
			have := regionOf(e.EndpointID)
			if e.Type != aga.EndpointTypeEndpointID || have == "" || want == "" || have == want {
				continue
			}
			out = append(out, Violation{
				Check: EndpointRegions, Field: fmt.Sprintf("%s.endpoints[%d].endpointID", endpointGroupPath(i, j), k), Value: e.EndpointID, identity: want + " " + e.EndpointID,
				Message: fmt.Sprintf("%q is in region %q, but the endpoint group is for region %q", finding.Truncate(e.EndpointID, maxARNLength), finding.TruncateValue(have), finding.TruncateValue(want)),
				Fix:     "move the endpoint to an endpoint group of its region",
			})
		}
	})
	return out
}

// maxARNLength is the length to which an ARN is shortened in messages.
const maxARNLength = 255
