// Package rights is the one table of what the controller may do in AWS and in Kubernetes: each permission
// with why it is needed and what fails without it. The policies in config/iam, the roles in config/rbac
// and docs/permissions.md are generated from it by go generate.
//
// A permission that is not in the table is not granted. One that is in it is used by the scenario that it
// names, and tests of internal/test/harness show that the scenario fails without it.
package rights

import (
	"slices"
	"strings"
)

// Partitions are the AWS partitions that there is a policy for. In all of them the controller needs the
// same.
var Partitions = []string{"aws", "aws-cn", "aws-us-gov", "aws-eusc", "aws-iso", "aws-iso-b", "aws-iso-e", "aws-iso-f"}

// clusterTag is on everything that the controller makes in AWS.
const clusterTag = "elbv2.k8s.aws/cluster"

// Statement are actions with the same resources and condition: a statement of an IAM policy.
type Statement struct {
	Sid string
	// Feature is what needs the statement besides the defaults: a gate, a flag or a field. Empty: it is in
	// the policy that every installation needs.
	Feature string
	// Resources are ARNs without "arn:" and their partition; nil is "*".
	Resources []string
	Condition []Condition
	Actions   []Action
}

// Condition is one condition; all of a statement must hold.
type Condition struct {
	Operator, Key string
	Values        []string
}

// Action is a permission in AWS.
type Action struct {
	Name string
	// Why is what the controller uses it for, as the end of the sentence "It is needed to …".
	Why string
	// Scenario is the part of the test that uses it.
	Scenario Scenario
}

// Example are values of the condition keys of a statement with which its conditions hold, for a cluster.
func (s Statement) Example(cluster string) map[string]string {
	out := map[string]string{}
	for _, c := range s.Condition {
		switch {
		case c.Operator == "StringEquals":
			out[c.Key] = c.Values[0]
		case c.Operator == "StringLike":
			out[c.Key] = strings.ReplaceAll(c.Values[0], "*", "1")
		case c.Operator == "Null" && c.Values[0] == "false":
			out[c.Key] = cluster
		}
	}
	return out
}

// ExampleResources are ARNs that match the resources of a statement and name nothing; one empty string for any resource.
func (s Statement) ExampleResources(partition, region, account string) []string {
	if len(s.Resources) == 0 {
		return []string{""}
	}
	var out []string
	for _, r := range s.Resources {
		parts := strings.SplitN(r, ":", 4)
		for i, value := range []string{"", region, account, "k8s-fulcrum-doctor"} {
			parts[i] = strings.Replace(parts[i], "*", value, 1)
		}
		out = append(out, "arn:"+partition+":"+strings.ReplaceAll(strings.Join(parts, ":"), "*", "0123456789abcdef"))
	}
	return out
}

// Scenario names what a test does with a controller that has the rights of the table: see
// internal/test/harness/permissions_test.go.
type Scenario string

// Test is the name of the test that fails without an action of a statement.
func (s Statement) Test(a Action) string {
	return "internal/test/harness TestWithoutPermission/" + s.Sid + "/" + a.Name
}

// Features are those that have statements or roles of their own, in the order of the table.
func Features() []string {
	var out []string
	add := func(f string) {
		if f != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	for _, s := range AWS {
		add(s.Feature)
	}
	return out
}
