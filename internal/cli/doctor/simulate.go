package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/checks"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
)

// simulatePolicy simulates actions that change AWS, because doctor must not try them, and reports the result. It makes a
// call to IAM for each statement of the table with one of the actions, and for each resource of that statement.
func (d *doctor) simulatePolicy(ctx context.Context, caller checks.Identity, table []rights.Statement, actions []string) {
	const area = "permissions"
	refused, granted := map[string]bool{}, map[string]bool{}
	for _, s := range table {
		if !isStatementChecked(s) {
			continue
		}
		q, why := checks.Simulation{Keys: s.ExampleConditionValues(d.Config.ClusterName)}, map[string]string{}
		for _, a := range s.Actions {
			if slices.Contains(actions, a.Name) {
				q.Actions = append(q.Actions, a.Name)
				why[a.Name] = a.Reason
			}
		}
		if len(q.Actions) == 0 {
			continue
		}
		for _, q.Resource = range s.ExampleResources(d.checker.Partition(), d.aws.Region(), caller.Account) {
			answers, err := d.checker.Simulate(ctx, caller, q)
			if err != nil {
				d.reportNotSimulated(err, actions)
				return
			}
			for _, a := range q.Actions {
				switch answers[a] {
				case checks.PermissionGranted:
					granted[a] = true
				case checks.PermissionRefused:
					if !refused[a] {
						d.addResult(area, resultWarning, "grant it to the role, see "+policyFileFor(s), "%s may not call %s in a simulation of its policies; it is needed to %s", caller.ARN, a, why[a])
					}
					refused[a] = true
				}
			}
		}
	}
	allowed := 0
	unknown := slices.DeleteFunc(slices.Clone(actions), func(a string) bool {
		if granted[a] && !refused[a] {
			allowed++
		}
		return granted[a] || refused[a]
	})
	d.addResult(area, resultOK, "", "%d of %d actions that change AWS are allowed in a simulation of the policies of %s"+callerRightsNote, allowed, len(actions), caller.ARN)
	if len(unknown) > 0 {
		d.addResult(area, resultOK, "", "the simulation has no result for %d actions: %s", len(unknown), strings.Join(countByService(unknown), ", "))
	}
}

// reportNotSimulated reports that actions were not checked because the simulation failed with err.
func (d *doctor) reportNotSimulated(err error, actions []string) {
	const area = "permissions"
	list := strings.Join(countByService(actions), ", ")
	switch {
	case checks.IsDenied(err):
		d.addResult(area, resultOK, "grant iam:SimulatePrincipalPolicy to the caller, so that doctor can simulate them", "%d actions change AWS and were not simulated: %s", len(actions), list)
	case errors.Is(err, checks.ErrPrincipalNotFound):
		d.addResult(area, resultOK, "run doctor with a role without a path, so that it can simulate them", "%d actions change AWS and were not simulated: %s; %v", len(actions), list, err)
	default:
		d.addResult(area, resultWarning, "run doctor again later, or look at the policies in IAM", "%d actions that change AWS were not checked, because the simulation of the IAM policies failed: %s; %v", len(actions), list, sdk.Explain(err))
	}
}
