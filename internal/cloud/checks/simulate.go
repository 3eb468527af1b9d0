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

// Simulation is a request to the IAM policy simulator: do the policies of a caller permit these actions on the resource?
type Simulation struct {
	Actions []string
	// Resource is an ARN, or "" for any resource.
	Resource string
	// Keys has the values of condition keys, by key.
	Keys map[string]string
}

// ErrPrincipalNotFound is the error of Simulate if IAM does not find the user or role of the caller.
var ErrPrincipalNotFound = errors.New("IAM finds no user or role with the ARN of the caller; the ARN of an assumed role does not contain the path of the role")

// Simulate returns, by action, whether the policies of a caller permit it. It makes one call to IAM. It omits an action if
// its permission depends on a condition key without a value in s.Keys.
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
		return nil, ErrPrincipalNotFound
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

// assumedRoleARN matches the ARN of an assumed-role session.
var assumedRoleARN = regexp.MustCompile(`^arn:([a-z-]+):sts::([0-9]+):assumed-role/([^/]+)/.*$`)

// policySource returns the ARN of the user or role whose policies apply to the caller with the given ARN. For an
// assumed-role session, this is the role without its path.
func policySource(arn string) string {
	return assumedRoleARN.ReplaceAllString(arn, "arn:$1:iam::$2:role/$3")
}
