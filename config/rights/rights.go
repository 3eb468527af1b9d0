// Package rights has the tables of the controller's permissions in AWS and in Kubernetes: each permission
// with its purpose and the test that fails without it. go generate writes the policies in config/iam, the
// roles in config/rbac and docs/permissions.md from the tables.
//
// The controller has no other permissions. Each permission has a scenario that uses it, and tests of
// internal/test/harness show that the scenario fails without it.
package rights

import "strings"

// Partitions are the AWS partitions with a policy. The controller needs the same permissions in each of
// them.
var Partitions = []string{"aws", "aws-cn", "aws-us-gov", "aws-eusc", "aws-iso", "aws-iso-b", "aws-iso-e", "aws-iso-f"}

// clusterTag is the key of the tag with the cluster's name. All resources that the controller creates have this
// tag.
const clusterTag = "elbv2.k8s.aws/cluster"

// Statement is a statement of an IAM policy: actions with the same resources and conditions.
type Statement struct {
	Sid string
	// Feature is the feature gate, flag or field that needs the statement, empty for statements that
	// every installation needs.
	Feature string
	// Resources are ARNs without "arn:" and partition, nil for "*".
	Resources []string
	Condition []Condition
	Actions   []Action
}

// Condition is a condition of a statement. The statement applies if all its conditions are true.
type Condition struct {
	Operator, Key string
	Values        []string
}

// Action is an AWS permission of a statement.
type Action struct {
	Name string
	// Reason is the purpose of the permission, as the end of the sentence "It is needed to …".
	Reason string
	// Scenario is the part of the test that uses the permission.
	Scenario Scenario
}

// Example returns values of condition keys, by key, with which the conditions of a statement are true for a cluster.
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

// ExampleResources returns ARNs that match the resources of a statement but do not exist, or one empty string if the
// statement is for all resources.
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

// Scenario is the name of a part of a test that runs the controller with the permissions of the table, see
// internal/test/harness/permissions_test.go.
type Scenario string

// TestName returns the name of the test that fails without an action of a statement.
func (s Statement) TestName(a Action) string {
	return "internal/test/harness TestWithoutPermission/" + s.Sid + "/" + a.Name
}
