package simulate

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	iamapi "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Service serves SimulatePrincipalPolicy.
type Service struct{ store *store.Store }

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service { return &Service{w} }

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	return []wire.Operation{
		wire.NewOperation("SimulatePrincipalPolicy", s.SimulatePrincipalPolicy, wire.HandledMembers("PolicySourceArn", "ActionNames", "ResourceArns", "ContextEntries", "MaxItems")),
	}
}

// SimulatePrincipalPolicy evaluates the policies of a principal for actions on resources. It returns all results in one page.
func (s *Service) SimulatePrincipalPolicy(c *store.Call, in *iamapi.SimulatePrincipalPolicyInput) (*iamapi.SimulatePrincipalPolicyOutput, error) {
	arn := aws.ToString(in.PolicySourceArn)
	who, ok := s.findPrincipal(c, arn)
	if !ok {
		return nil, store.Errorf(store.UnprovenSource, "NoSuchEntity", "The user or role with name %s cannot be found.", arn).WithStatus(404)
	}
	keys := map[string]string{}
	for _, e := range in.ContextEntries {
		for _, v := range e.ContextKeyValues {
			keys[aws.ToString(e.ContextKeyName)] = v
		}
	}
	resources := in.ResourceArns
	if len(resources) == 0 {
		resources = []string{"*"}
	}
	out := &iamapi.SimulatePrincipalPolicyOutput{}
	for _, action := range in.ActionNames {
		for _, resource := range resources {
			d := iam.Decision{IsAllowed: true} // a principal without policies is allowed everything
			if who.Policies != nil {
				d = iam.Evaluate(who.Policies, iam.Request{Action: action, Resource: resource, Keys: keys})
			}
			out.EvaluationResults = append(out.EvaluationResults, types.EvaluationResult{
				EvalActionName: aws.String(action), EvalResourceName: aws.String(resource), EvalDecision: decisionType(d),
			})
		}
	}
	return out, nil
}

func decisionType(d iam.Decision) types.PolicyEvaluationDecisionType {
	switch {
	case d.IsAllowed:
		return types.PolicyEvaluationDecisionTypeAllowed
	case d.IsExplicitDeny:
		return types.PolicyEvaluationDecisionTypeExplicitDeny
	}
	return types.PolicyEvaluationDecisionTypeImplicitDeny
}

// findPrincipal returns the caller if the ARN is the caller's, or else the registered role with the ARN. It returns false if
// there is none.
func (s *Service) findPrincipal(c *store.Call, arn string) (store.Principal, bool) {
	if arn == c.Caller.ARN {
		return c.Caller, true
	}
	role, ok := s.store.RoleByARN(arn)
	return store.Principal{ARN: cmp.Or(role.ARN, arn), Policies: role.Policies}, ok
}
