// Package wafv2 implements operations of WAFv2: those that associate web ACLs with load balancers, and those that create,
// read, list and delete web ACLs of regional scope. It stores rules, but does not evaluate them.
package wafv2

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Service serves the operations of WAFv2.
type Service struct {
	store *store.Store
}

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service { return &Service{store: w} }

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	h := wire.HandledMembers
	return []wire.Operation{
		wire.NewOperation("AssociateWebACL", s.AssociateWebACL, h("ResourceArn", "WebACLArn")),
		wire.NewOperation("DisassociateWebACL", s.DisassociateWebACL, h("ResourceArn")),
		wire.NewOperation("GetWebACLForResource", s.GetWebACLForResource, h("ResourceArn")),
		wire.NewOperation("ListResourcesForWebACL", s.ListResourcesForWebACL, h("ResourceType", "WebACLArn")),
		wire.NewOperation("CreateWebACL", s.CreateWebACL, h("Name", "Scope", "DefaultAction", "VisibilityConfig", "Description", "Rules", "Tags",
			"AssociationConfig", "CaptchaConfig", "ChallengeConfig", "CustomResponseBodies", "TokenDomains")),
		wire.NewOperation("DeleteWebACL", s.DeleteWebACL, h("Id", "LockToken", "Name", "Scope")),
		wire.NewOperation("GetWebACL", s.GetWebACL, h("ARN", "Id", "Name", "Scope")),
		wire.NewOperation("ListWebACLs", s.ListWebACLs, h("Limit", "NextMarker", "Scope")),
	}
}

func invalidParameterError(field, value string) error {
	return store.Errorf(store.UnprovenSource, "WAFInvalidParameterException", "Error reason: The parameter contains formatting that is not valid., field: %s, parameter: %s", field, value)
}

func itemNotFoundError() error {
	return store.Errorf(store.ModelSource("wafv2 WAFNonexistentItemException"), "WAFNonexistentItemException", "AWS WAF couldn’t perform the operation because your resource doesn’t exist.")
}

func unavailableError() error {
	return store.Errorf(store.ReportSource("hashicorp/terraform-provider-aws#29080"), "WAFUnavailableEntityException", "AWS WAF couldn’t retrieve the resource that you requested. Retry your request.")
}

// checkLoadBalancer returns an error if arn is not the ARN of an ALB that can have a web ACL now.
func (s *Service) checkLoadBalancer(c *store.Call, arn string) error {
	if !strings.HasPrefix(arn, "arn:") || len(arn) < 20 {
		return invalidParameterError("RESOURCE_ARN", arn)
	}
	if strings.Contains(arn, ":elasticloadbalancing:") && !strings.Contains(arn, ":loadbalancer/app/") {
		return invalidParameterError("RESOURCE_ARN", arn)
	}
	lb := c.Partition.ELB.LoadBalancers[arn]
	if lb == nil {
		return itemNotFoundError()
	}
	if c.Now.Before(lb.Created.Add(s.store.Config.WAF.PropagationDelay)) {
		return unavailableError()
	}
	return nil
}
