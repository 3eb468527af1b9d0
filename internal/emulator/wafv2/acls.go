package wafv2

import (
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	quotaACLs   = "web-acls-per-region"
	maxPageSize = 100
)

var namePattern = regexp.MustCompile(`^[\w-]{1,128}$`)

// checkScope returns an error if a scope is not REGIONAL.
func checkScope(scope types.Scope) error {
	switch {
	case scope == types.ScopeRegional:
		return nil
	case slices.Contains(scope.Values(), scope):
		return store.Errorf(store.EmulatorSource, "WAFInvalidParameterException", "The scope '%s' is not supported by this emulator", scope)
	}
	return invalidParameterError("SCOPE_VALUE", string(scope))
}

// CreateWebACL creates a web ACL with the scope REGIONAL.
func (s *Service) CreateWebACL(c *store.Call, in *wafv2.CreateWebACLInput) (*wafv2.CreateWebACLOutput, error) {
	if err := checkScope(in.Scope); err != nil {
		return nil, err
	}
	p := c.Partition
	name := store.Value(in.Name)
	if !namePattern.MatchString(name) {
		return nil, invalidParameterError("NAME", name)
	}
	if in.DefaultAction == nil || in.VisibilityConfig == nil {
		return nil, invalidParameterError("DEFAULT_ACTION", "")
	}
	for _, acl := range p.WAFv2.ACLs {
		if store.Value(acl.ACL.Name) == name {
			return nil, store.Errorf(store.ModelSource("wafv2 WAFDuplicateItemException"), "WAFDuplicateItemException", "AWS WAF couldn’t perform the operation because some resource in your request is a duplicate of an existing one.")
		}
	}
	if quota := s.store.Quota(quotaACLs, 100); len(p.WAFv2.ACLs) >= quota {
		return nil, store.Errorf(store.UnprovenSource, "WAFLimitsExceededException", "AWS WAF couldn’t perform the operation because you exceeded your resource limit: '%d'", quota)
	}
	id := s.store.RandomUUID()
	arn := p.ARN("wafv2", "regional/webacl/"+name+"/"+id)
	tags := map[string]string{}
	for _, t := range in.Tags {
		tags[store.Value(t.Key)] = store.Value(t.Value)
	}
	p.WAFv2.ACLs[arn] = &store.WebACL{
		ACL: types.WebACL{
			ARN: new(arn), Id: new(id), Name: new(name), DefaultAction: in.DefaultAction, VisibilityConfig: in.VisibilityConfig,
			Description: in.Description, Rules: in.Rules, AssociationConfig: in.AssociationConfig, CaptchaConfig: in.CaptchaConfig,
			ChallengeConfig: in.ChallengeConfig, CustomResponseBodies: in.CustomResponseBodies, TokenDomains: in.TokenDomains,
			Capacity: int64(len(in.Rules)), LabelNamespace: new("awswaf:" + p.Account + ":webacl:" + name + ":"),
		},
		Scope: in.Scope, LockToken: s.store.RandomUUID(), Created: c.Now, Tags: tags,
	}
	return &wafv2.CreateWebACLOutput{Summary: new(webACLSummary(p.WAFv2.ACLs[arn]))}, nil
}

func webACLSummary(a *store.WebACL) types.WebACLSummary {
	return types.WebACLSummary{ARN: a.ACL.ARN, Id: a.ACL.Id, Name: a.ACL.Name, Description: a.ACL.Description, LockToken: new(a.LockToken)}
}

// findWebACL returns the web ACL with a name and an ID, or nil if there is none.
func findWebACL(p *store.Partition, name, id *string) *store.WebACL {
	for _, acl := range p.WAFv2.ACLs {
		if store.Value(acl.ACL.Name) == store.Value(name) && store.Value(acl.ACL.Id) == store.Value(id) {
			return acl
		}
	}
	return nil
}

// GetWebACL returns a web ACL by its ARN, or by its name and ID.
func (s *Service) GetWebACL(c *store.Call, in *wafv2.GetWebACLInput) (*wafv2.GetWebACLOutput, error) {
	p := c.Partition
	acl := p.WAFv2.ACLs[store.Value(in.ARN)]
	if in.ARN == nil {
		if err := checkScope(in.Scope); err != nil {
			return nil, err
		}
		acl = findWebACL(p, in.Name, in.Id)
	}
	if acl == nil {
		return nil, itemNotFoundError()
	}
	copied := acl.ACL
	return &wafv2.GetWebACLOutput{WebACL: &copied, LockToken: new(acl.LockToken)}, nil
}

// DeleteWebACL deletes a web ACL that no load balancer uses.
func (s *Service) DeleteWebACL(c *store.Call, in *wafv2.DeleteWebACLInput) (*wafv2.DeleteWebACLOutput, error) {
	if err := checkScope(in.Scope); err != nil {
		return nil, err
	}
	p := c.Partition
	acl := findWebACL(p, in.Name, in.Id)
	if acl == nil {
		return nil, itemNotFoundError()
	}
	if store.Value(in.LockToken) != acl.LockToken {
		return nil, store.Errorf(store.UnprovenSource, "WAFOptimisticLockException", "AWS WAF couldn’t save your changes because someone changed the resource after you started to edit it. Reapply your changes.")
	}
	for _, arn := range p.WAFv2.Associations {
		if arn == *acl.ACL.ARN {
			return nil, store.Errorf(store.ModelSource("wafv2 WAFAssociatedItemException"), "WAFAssociatedItemException", "AWS WAF couldn’t perform the operation because your resource is being used by another resource or it’s associated with another resource.")
		}
	}
	delete(p.WAFv2.ACLs, *acl.ACL.ARN)
	return &wafv2.DeleteWebACLOutput{}, nil
}

// ListWebACLs lists a page of the web ACLs. The marker of the next page is the last ARN.
func (s *Service) ListWebACLs(c *store.Call, in *wafv2.ListWebACLsInput) (*wafv2.ListWebACLsOutput, error) {
	if err := checkScope(in.Scope); err != nil {
		return nil, err
	}
	p := c.Partition
	if n := store.Value(in.Limit); in.Limit != nil && (n < 1 || n > maxPageSize) {
		return nil, invalidParameterError("LIMIT", "")
	}
	limit := s.store.PageLimit(int(store.Value(in.Limit)), maxPageSize)
	out := &wafv2.ListWebACLsOutput{WebACLs: []types.WebACLSummary{}}
	for _, arn := range store.SortedKeys(p.WAFv2.ACLs) {
		if in.NextMarker != nil && arn <= *in.NextMarker {
			continue
		}
		if len(out.WebACLs) == limit {
			out.NextMarker = out.WebACLs[limit-1].ARN
			break
		}
		out.WebACLs = append(out.WebACLs, webACLSummary(p.WAFv2.ACLs[arn]))
	}
	store.Shuffle(s.store, out.WebACLs)
	return out, nil
}
