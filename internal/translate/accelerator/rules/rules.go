package rules

import (
	"cmp"
	"fmt"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Check is the name of a check. It is a label value of the metric about denied objects. The first two names are the same
// as in aws-load-balancer-controller.
type Check string

// The checks, in the order in which their violations are reported.
const (
	DuplicateEndpoints    Check = "checkForDuplicateEndpoints"
	OverlappingPortRanges Check = "checkForOverlappingPortRanges"
	DuplicateRegions      Check = "checkForDuplicateRegions"
	DuplicateOverrides    Check = "checkForDuplicateOverrides"
	IPAddresses           Check = "checkIPAddresses"
	EndpointRegions       Check = "checkEndpointRegions"
	ImmutableFields       Check = "checkImmutableFields"

	// PortOverrides and Quotas are checks whose violations are only advice.
	PortOverrides Check = "checkPortOverrides"
	Quotas        Check = "checkQuotas"
)

// Violation describes a field of a GlobalAccelerator that is invalid.
type Violation struct {
	Check Check
	// Field is the path of the field. Value is the value of the field.
	Field, Value string
	// Message describes what is wrong, with the value. Fix is the advice for users.
	Message, Fix string
	// IsAdvice reports whether the webhook admits the object in spite of the violation, because the webhook lacks facts,
	// such as the ports of an endpoint or quotas that AWS has raised.
	IsAdvice bool

	// identity identifies the violation regardless of its position in the object.
	identity string
}

// Text returns the violation as one line.
func (v Violation) Text() string {
	return finding.EscapeNonPrintable(v.Field + ": " + v.Message + "; " + v.Fix)
}

// Subject is the GlobalAccelerator that is checked.
type Subject struct {
	Spec *aga.GlobalAcceleratorSpec
	// Namespace is the namespace of the object. Region is the AWS region of the cluster, or "" if it is not known.
	Namespace, Region string
}

// Default quotas of AWS. AWS does not raise the quotas of endpoint groups and port ranges.
// https://docs.aws.amazon.com/global-accelerator/latest/dg/limits-global-accelerator.html
const (
	MaxListeners      = 10
	MaxPortRanges     = 10
	MaxEndpointGroups = 42
	MaxEndpoints      = 10
	MaxOverrides      = 10
)

// FindViolations returns all violations, in the order of the checks and of the spec.
func FindViolations(s Subject) []Violation {
	var out []Violation
	for _, check := range []func(Subject) []Violation{
		duplicateEndpoints, overlappingPortRanges, duplicateRegions, duplicateOverrides, invalidAddresses, wrongEndpointRegions, invalidPortOverrides, exceededQuotas,
	} {
		out = append(out, check(s)...)
	}
	return out
}

// NewViolations returns the violations in now that are not in was. The position of a violation in the object may differ.
func NewViolations(was, now []Violation) []Violation {
	type kind struct {
		check Check
		key   string
	}
	had := map[kind]int{}
	for _, v := range was {
		had[kind{v.Check, v.identity}]++
	}
	var out []Violation
	for _, v := range now {
		k := kind{v.Check, v.identity}
		if had[k]--; had[k] < 0 {
			out = append(out, v)
		}
	}
	return out
}

func listenerPath(i int) string { return fmt.Sprintf("spec.listeners[%d]", i) }

func endpointGroupPath(i, j int) string {
	return fmt.Sprintf("%s.endpointGroups[%d]", listenerPath(i), j)
}

// eachEndpointGroup calls visit for each endpoint group, with the indexes of its listener and of the endpoint group.
func eachEndpointGroup(s Subject, visit func(i, j int, group *aga.EndpointGroup)) {
	for i := range s.Spec.Listeners {
		for j := range s.Spec.Listeners[i].EndpointGroups {
			visit(i, j, &s.Spec.Listeners[i].EndpointGroups[j])
		}
	}
}

// endpointKey returns a text that identifies an endpoint: EndpointID/ID, or TYPE/NAMESPACE/NAME. namespace is the
// namespace of the GlobalAccelerator. An endpoint without a namespace is in this namespace.
func endpointKey(e aga.Endpoint, namespace string) string {
	if e.Type == aga.EndpointTypeEndpointID {
		return string(e.Type) + "/" + e.EndpointID
	}
	return string(e.Type) + "/" + cmp.Or(e.Namespace, namespace) + "/" + e.Name
}

func duplicateEndpoints(s Subject) (out []Violation) {
	eachEndpointGroup(s, func(i, j int, group *aga.EndpointGroup) {
		first := make(map[string]int, len(group.Endpoints))
		for k, e := range group.Endpoints {
			key := endpointKey(e, s.Namespace)
			at, twice := first[key]
			if !twice {
				first[key] = k
				continue
			}
			out = append(out, Violation{
				Check: DuplicateEndpoints, Field: fmt.Sprintf("%s.endpoints[%d]", endpointGroupPath(i, j), k), Value: key, identity: key,
				Message: fmt.Sprintf("endpoint %q of listener %d, endpoint group %d is the same as endpoints[%d]", finding.TruncateValue(key), i, j, at),
				Fix:     "remove one of the endpoints",
			})
		}
	})
	return out
}

func duplicateRegions(s Subject) (out []Violation) {
	for i, l := range s.Spec.Listeners {
		first := make(map[string]int, len(l.EndpointGroups))
		for j, group := range l.EndpointGroups {
			region := cmp.Or(group.Region, s.Region)
			at, twice := first[region]
			if !twice {
				first[region] = j
				continue
			}
			name := fmt.Sprintf("region %q", finding.TruncateValue(region))
			if group.Region == "" {
				name = "the region of the cluster"
			}
			out = append(out, Violation{
				Check: DuplicateRegions, Field: endpointGroupPath(i, j) + ".region", Value: region, identity: region,
				Message: fmt.Sprintf("%s already has an endpoint group of the listener, endpointGroups[%d]", name, at),
				Fix:     "move the endpoints to this endpoint group, or set another region",
			})
		}
	}
	return out
}

func exceededQuotas(s Subject) (out []Violation) {
	over := func(field, what string, have, most int, raised string) {
		if have > most {
			out = append(out, Violation{
				Check: Quotas, Field: field, Value: fmt.Sprint(have), IsAdvice: true, identity: what,
				Message: fmt.Sprintf("%d %s, and AWS allows %d%s", have, what, most, raised), Fix: "resources beyond the quota, and a listener or endpoint group with too many port ranges or overrides, are not created; remove some of them, or request a higher quota if AWS can raise it",
			})
		}
	}
	const usually = " unless it has raised the quota"
	over("spec.listeners", "listeners", len(s.Spec.Listeners), MaxListeners, usually)
	groups := 0
	for i, l := range s.Spec.Listeners {
		groups += len(l.EndpointGroups)
		over(listenerPath(i)+".portRanges", "port ranges", len(l.PortRanges), MaxPortRanges, "")
	}
	over("spec.listeners", "endpoint groups in all listeners", groups, MaxEndpointGroups, "")
	eachEndpointGroup(s, func(i, j int, group *aga.EndpointGroup) {
		over(endpointGroupPath(i, j)+".endpoints", "endpoints", len(group.Endpoints), MaxEndpoints, usually)
		over(endpointGroupPath(i, j)+".portOverrides", "port overrides", len(group.PortOverrides), MaxOverrides, "")
	})
	return out
}
