package checks

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
)

// Simulation is a request to simulate IAM policies: do they permit actions on a resource with the given condition keys?
type Simulation struct {
	Actions []string
	// Resource is an ARN; "" for any resource.
	Resource string
	// Keys has the value of each condition key.
	Keys map[string]string
}

// ErrNoPrincipal is the error of a simulation for a user or role that IAM does not find.
var ErrNoPrincipal = errors.New("IAM does not find the role by this ARN, as is the case for roles with a path")

// Simulate returns for each action whether the policies of a caller permit it, with one call to IAM. It leaves out actions
// whose permission depends on a condition key for which no value is given.
func (c *Checker) Simulate(ctx context.Context, caller Identity, s Simulation) (map[string]Permission, error) {
	in := &iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(policySource(caller.ARN)), ActionNames: s.Actions, MaxItems: aws.Int32(1000)}
	if s.Resource != "" {
		in.ResourceArns = []string{s.Resource}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Keys)) {
		in.ContextEntries = append(in.ContextEntries, iamtypes.ContextEntry{
			ContextKeyName: aws.String(key), ContextKeyType: iamtypes.ContextKeyTypeEnumString, ContextKeyValues: []string{s.Keys[key]},
		})
	}
	out, err := c.API.IAM.SimulatePrincipalPolicy(ctx, in)
	switch {
	case sdk.Code(err) == "NoSuchEntity":
		return nil, ErrNoPrincipal
	case err != nil:
		return nil, err
	}
	result := map[string]Permission{}
	for _, r := range out.EvaluationResults {
		switch {
		case r.EvalDecision == iamtypes.PolicyEvaluationDecisionTypeAllowed:
			result[aws.ToString(r.EvalActionName)] = PermissionGranted
		case len(r.MissingContextValues) == 0:
			result[aws.ToString(r.EvalActionName)] = PermissionRefused
		}
	}
	return result, nil
}

// assumedRoleARN matches the ARN of the session of an assumed role.
var assumedRoleARN = regexp.MustCompile(`^arn:([a-z-]+):sts::([0-9]+):assumed-role/([^/]+)/.*$`)

// policySource returns the ARN of the user or role whose policies apply to a caller.
func policySource(arn string) string {
	return assumedRoleARN.ReplaceAllString(arn, "arn:$1:iam::$2:role/$3")
}
