package wafv2

import (
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

var webACLARNPattern = regexp.MustCompile(`^arn:aws[a-z-]*:wafv2:([a-z0-9-]+):\d{12}:(regional|global)/webacl/[\w-]+/[\w-]+$`)

// AssociateWebACL associates a web ACL with a load balancer. It replaces the previous web ACL.
func (s *Service) AssociateWebACL(c *store.Call, in *wafv2.AssociateWebACLInput) (*wafv2.AssociateWebACLOutput, error) {
	p := c.Partition
	arn, resource := store.Value(in.WebACLArn), store.Value(in.ResourceArn)
	if m := webACLARNPattern.FindStringSubmatch(arn); m == nil || m[2] != "regional" || m[1] != p.Region {
		return nil, invalidParameterError("WEB_ACL_ARN", arn)
	}
	if err := s.checkLoadBalancer(c, resource); err != nil {
		return nil, err
	}
	acl := p.WAFv2.ACLs[arn]
	if acl == nil {
		return nil, itemNotFoundError()
	}
	if c.Now.Before(acl.Created.Add(s.store.Config.WAF.PropagationDelay)) {
		return nil, unavailableError()
	}
	if p.WAFRegional.Associations[resource] != "" && s.store.Config.Strict {
		return nil, store.Errorf(store.UnprovenSource, "WAFInvalidOperationException", "The resource '%s' is associated with a web ACL of AWS WAF Classic", resource)
	}
	s.setWebACL(c, p.WAFv2, resource, arn)
	return &wafv2.AssociateWebACLOutput{}, nil
}

// DisassociateWebACL removes the web ACL of a load balancer, if it has one.
func (s *Service) DisassociateWebACL(c *store.Call, in *wafv2.DisassociateWebACLInput) (*wafv2.DisassociateWebACLOutput, error) {
	resource := store.Value(in.ResourceArn)
	if err := s.checkLoadBalancer(c, resource); err != nil {
		return nil, err
	}
	s.setWebACL(c, c.Partition.WAFv2, resource, "")
	return &wafv2.DisassociateWebACLOutput{}, nil
}

// setWebACL sets the web ACL of a resource; acl "" removes it. It stores the previous web ACL if reads may still return it.
func (s *Service) setWebACL(c *store.Call, st *store.WAFv2State, resource, acl string) {
	before := st.Associations[resource]
	if before == acl {
		return
	}
	if s.store.Config.WAF.ReadDelay > 0 {
		if st.Changes == nil {
			st.Changes = map[string]store.AssociationChange{}
		}
		st.Changes[resource] = store.AssociationChange{Previous: before, At: c.Now}
	}
	if acl == "" {
		delete(st.Associations, resource)
		return
	}
	st.Associations[resource] = acl
}

// GetWebACLForResource returns the web ACL of a load balancer. Without a web ACL, WebACL is nil.
func (s *Service) GetWebACLForResource(c *store.Call, in *wafv2.GetWebACLForResourceInput) (*wafv2.GetWebACLForResourceOutput, error) {
	st := c.Partition.WAFv2
	resource := store.Value(in.ResourceArn)
	if err := s.checkLoadBalancer(c, resource); err != nil {
		return nil, err
	}
	arn := st.Associations[resource]
	if ch, ok := st.Changes[resource]; ok && c.Now.Before(ch.At.Add(s.store.Config.WAF.ReadDelay)) {
		arn = ch.Previous
	}
	out := &wafv2.GetWebACLForResourceOutput{}
	if acl := st.ACLs[arn]; acl != nil {
		copied := acl.ACL
		out.WebACL = &copied
	}
	return out, nil
}

// ListResourcesForWebACL lists the load balancers that use a web ACL.
func (s *Service) ListResourcesForWebACL(c *store.Call, in *wafv2.ListResourcesForWebACLInput) (*wafv2.ListResourcesForWebACLOutput, error) {
	st := c.Partition.WAFv2
	if st.ACLs[store.Value(in.WebACLArn)] == nil {
		return nil, itemNotFoundError()
	}
	out := &wafv2.ListResourcesForWebACLOutput{ResourceArns: []string{}}
	if in.ResourceType != "" && in.ResourceType != types.ResourceTypeApplicationLoadBalancer {
		return out, nil
	}
	for _, resource := range store.SortedKeys(st.Associations) {
		if st.Associations[resource] == *in.WebACLArn {
			out.ResourceArns = append(out.ResourceArns, resource)
		}
	}
	store.Shuffle(s.store, out.ResourceArns)
	return out, nil
}
