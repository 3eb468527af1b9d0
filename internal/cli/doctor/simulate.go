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

// simulatePolicy has IAM judge the actions that can be tried only by a change, with a call for each statement of the
// table and each of its resources.
func (d *doctor) simulatePolicy(ctx context.Context, who checks.Identity, table []rights.Statement, actions []string) {
	const area = "permissions"
	refused, granted := map[string]bool{}, map[string]bool{}
	for _, s := range table {
		if !isStatementNeeded(s) {
			continue
		}
		q, why := checks.Simulation{Keys: s.Example(d.Config.ClusterName)}, map[string]string{}
		for _, a := range s.Actions {
			if slices.Contains(actions, a.Name) {
				q.Actions = append(q.Actions, a.Name)
				why[a.Name] = a.Why
			}
		}
		if len(q.Actions) == 0 {
			continue
		}
		for _, q.Resource = range s.ExampleResources(d.checker.Partition(), d.aws.Region(), who.Account) {
			answers, err := d.checker.Simulate(ctx, who, q)
			if err != nil {
				d.unsimulated(err, actions)
				return
			}
			for _, a := range q.Actions {
				switch answers[a] {
				case checks.PermissionGranted:
					granted[a] = true
				case checks.PermissionRefused:
					if !refused[a] {
						d.addResult(area, warned, "grant it to the role, see "+policyOf(s), "a simulation of its policies denies %s to %s, which is needed to %s", a, who.ARN, why[a])
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
	d.addResult(area, healthy, "", "%d of %d actions that can be tried only by a change are granted by a simulation of the policies of %s"+yours, allowed, len(actions), who.ARN)
	if len(unknown) > 0 {
		d.addResult(area, healthy, "", "of %d actions the simulation says nothing: %s", len(unknown), strings.Join(services(unknown), ", "))
	}
}

// unsimulated reports that actions were not checked.
func (d *doctor) unsimulated(err error, actions []string) {
	const area = "permissions"
	list := strings.Join(services(actions), ", ")
	switch {
	case checks.Denied(err):
		d.addResult(area, healthy, "grant iam:SimulatePrincipalPolicy to whoever runs doctor to have them simulated", "%d actions can be tried only by a change, and were not: %s", len(actions), list)
	case errors.Is(err, checks.ErrNoPrincipal):
		d.addResult(area, healthy, "run doctor with a role without a path to have them simulated", "%d actions can be tried only by a change, and were not: %s; %v", len(actions), list, err)
	default:
		d.addResult(area, warned, "run doctor again later, or look at the policies in IAM", "%d actions can be tried only by a change, and their policies could not be simulated: %s; %v", len(actions), list, sdk.Explain(err))
	}
}
