package model

import (
	"maps"
	"slices"
	"strings"
)

func joinRefs(refs []string) string { return strings.Join(refs, ",") }

// SubnetQuestion returns the question for the subnets that a choice selects, for a load balancer with a scheme.
func SubnetQuestion(c SubnetChoice, scheme Scheme, nlb bool) AskSubnets {
	q := subnetQuestionForScheme(c, scheme)
	q.NLB = nlb
	return q
}

func subnetQuestionForScheme(c SubnetChoice, scheme Scheme) AskSubnets {
	switch c := c.(type) {
	case SubnetsNamed:
		return AskSubnets{Refs: joinRefs(c.Refs), Choice: c}
	case SubnetsTagged:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(c.Tags)) {
			parts = append(parts, k+"="+strings.Join(c.Tags[k], "|"))
		}
		return AskSubnets{Tags: strings.Join(parts, ","), Choice: c}
	}
	return AskSubnets{Discover: scheme, Choice: SubnetsDiscovered{}}
}
