// Package wafregional implements operations of WAF Classic (regional): those that associate web ACLs with load balancers,
// and those that create and list web ACLs. Web ACLs have no rules.
package wafregional

import (
	"regexp"
	"slices"
	"strings"

	waf "github.com/aws/aws-sdk-go-v2/service/wafregional"
	"github.com/aws/aws-sdk-go-v2/service/wafregional/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

const (
	quotaACLs   = "classic-web-acls-per-region"
	maxPageSize = 100
)

var metricPattern = regexp.MustCompile(`^[A-Za-z0-9]{1,128}$`)

// Service serves the operations of WAF Classic (regional).
type Service struct {
	store *store.Store
}

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service { return &Service{store: w} }

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	h := wire.HandledMembers
	return []wire.Operation{
		wire.NewOperation("AssociateWebACL", s.AssociateWebACL, h("ResourceArn", "WebACLId")),
		wire.NewOperation("DisassociateWebACL", s.DisassociateWebACL, h("ResourceArn")),
		wire.NewOperation("GetWebACLForResource", s.GetWebACLForResource, h("ResourceArn")),
		wire.NewOperation("CreateWebACL", s.CreateWebACL, h("ChangeToken", "DefaultAction", "MetricName", "Name", "Tags")),
		wire.NewOperation("ListWebACLs", s.ListWebACLs, h("Limit", "NextMarker")),
		wire.NewOperation("GetChangeToken", s.GetChangeToken, h()),
	}
}

func itemNotFoundError() error {
	return store.Errorf(store.UnprovenSource, "WAFNonexistentItemException", "The referenced item does not exist.")
}

func unavailableError() error {
	return store.Errorf(store.ReportSource("hashicorp/terraform-provider-aws#32103"), "WAFUnavailableEntityException", "An entity is unavailable for modification or display. Please retry.")
}

// checkLoadBalancer returns an error if arn is not the ARN of an ALB that can have a web ACL now.
func (s *Service) checkLoadBalancer(c *store.Call, arn string) error {
	if !strings.HasPrefix(arn, "arn:") || strings.Contains(arn, ":elasticloadbalancing:") && !strings.Contains(arn, ":loadbalancer/app/") {
		return store.Errorf(store.UnprovenSource, "WAFInvalidParameterException", "The resource ARN '%s' is not valid", arn)
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

// AssociateWebACL associates a web ACL with a load balancer. It replaces the previous web ACL.
func (s *Service) AssociateWebACL(c *store.Call, in *waf.AssociateWebACLInput) (*waf.AssociateWebACLOutput, error) {
	p, resource := c.Partition, store.Value(in.ResourceArn)
	if err := s.checkLoadBalancer(c, resource); err != nil {
		return nil, err
	}
	if p.WAFRegional.ACLs[store.Value(in.WebACLId)] == nil {
		return nil, itemNotFoundError()
	}
	if p.WAFv2.Associations[resource] != "" && s.store.Config.Strict {
		return nil, unavailableError()
	}
	p.WAFRegional.Associations[resource] = *in.WebACLId
	return &waf.AssociateWebACLOutput{}, nil
}

// DisassociateWebACL removes the web ACL of a load balancer, if it has one.
func (s *Service) DisassociateWebACL(c *store.Call, in *waf.DisassociateWebACLInput) (*waf.DisassociateWebACLOutput, error) {
	if err := s.checkLoadBalancer(c, store.Value(in.ResourceArn)); err != nil {
		return nil, err
	}
	delete(c.Partition.WAFRegional.Associations, *in.ResourceArn)
	return &waf.DisassociateWebACLOutput{}, nil
}

// GetWebACLForResource returns the web ACL of a load balancer. Without a web ACL, WebACLSummary is nil.
func (s *Service) GetWebACLForResource(c *store.Call, in *waf.GetWebACLForResourceInput) (*waf.GetWebACLForResourceOutput, error) {
	if err := s.checkLoadBalancer(c, store.Value(in.ResourceArn)); err != nil {
		return nil, err
	}
	st := c.Partition.WAFRegional
	out := &waf.GetWebACLForResourceOutput{}
	if acl := st.ACLs[st.Associations[*in.ResourceArn]]; acl != nil {
		out.WebACLSummary = &types.WebACLSummary{WebACLId: new(acl.ID), Name: new(acl.Name)}
	}
	return out, nil
}

// GetChangeToken returns a token for one change of a web ACL.
func (s *Service) GetChangeToken(c *store.Call, _ *waf.GetChangeTokenInput) (*waf.GetChangeTokenOutput, error) {
	st := c.Partition.WAFRegional
	if st.Tokens == nil {
		st.Tokens = map[string]bool{}
	}
	token := s.store.RandomUUID()
	st.Tokens[token] = true
	return &waf.GetChangeTokenOutput{ChangeToken: new(token)}, nil
}

// CreateWebACL creates a web ACL without rules.
func (s *Service) CreateWebACL(c *store.Call, in *waf.CreateWebACLInput) (*waf.CreateWebACLOutput, error) {
	p := c.Partition
	st := p.WAFRegional
	if !st.Tokens[store.Value(in.ChangeToken)] {
		return nil, store.Errorf(store.UnprovenSource, "WAFStaleDataException", "The input token is no longer current.")
	}
	if store.Value(in.Name) == "" || len(*in.Name) > 128 || !metricPattern.MatchString(store.Value(in.MetricName)) {
		return nil, store.Errorf(store.UnprovenSource, "WAFInvalidParameterException", "The name or the metric name is not valid")
	}
	if in.DefaultAction == nil || !slices.Contains(in.DefaultAction.Type.Values(), in.DefaultAction.Type) {
		return nil, store.Errorf(store.UnprovenSource, "WAFInvalidParameterException", "The default action is not valid")
	}
	if quota := s.store.Quota(quotaACLs, 50); len(st.ACLs) >= quota {
		return nil, store.Errorf(store.UnprovenSource, "WAFLimitsExceededException", "Operation would result in exceeding resource limits: '%d'", quota)
	}
	delete(st.Tokens, *in.ChangeToken)
	id := s.store.RandomUUID()
	acl := &store.ClassicWebACL{
		ID: id, ARN: p.ARN("waf-regional", "webacl/"+id), Name: *in.Name, Metric: *in.MetricName,
		Default: string(in.DefaultAction.Type), Tags: map[string]string{},
	}
	for _, t := range in.Tags {
		acl.Tags[store.Value(t.Key)] = store.Value(t.Value)
	}
	st.ACLs[id] = acl
	return &waf.CreateWebACLOutput{ChangeToken: in.ChangeToken, WebACL: &types.WebACL{
		WebACLId: new(id), WebACLArn: new(acl.ARN), Name: new(acl.Name), MetricName: new(acl.Metric),
		DefaultAction: &types.WafAction{Type: in.DefaultAction.Type}, Rules: []types.ActivatedRule{},
	}}, nil
}

// ListWebACLs lists a page of the web ACLs. The marker of the next page is the last ID.
func (s *Service) ListWebACLs(c *store.Call, in *waf.ListWebACLsInput) (*waf.ListWebACLsOutput, error) {
	st := c.Partition.WAFRegional
	if in.Limit < 0 || in.Limit > maxPageSize {
		return nil, store.Errorf(store.UnprovenSource, "WAFInvalidParameterException", "The limit '%d' must be between 0 and %d", in.Limit, maxPageSize)
	}
	limit := s.store.PageLimit(int(in.Limit), maxPageSize)
	out := &waf.ListWebACLsOutput{WebACLs: []types.WebACLSummary{}}
	for _, id := range store.SortedKeys(st.ACLs) {
		if in.NextMarker != nil && id <= *in.NextMarker {
			continue
		}
		if len(out.WebACLs) == limit {
			out.NextMarker = out.WebACLs[limit-1].WebACLId
			break
		}
		out.WebACLs = append(out.WebACLs, types.WebACLSummary{WebACLId: new(id), Name: new(st.ACLs[id].Name)})
	}
	store.Shuffle(s.store, out.WebACLs)
	return out, nil
}
