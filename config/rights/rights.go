// Package rights has the tables of the controller's permissions in AWS and in Kubernetes: each permission
// with its purpose and the test that fails without it. From these tables, go generate writes the policies in
// config/iam, the roles in config/rbac, and docs/permissions.md.
//
// The controller needs no other permissions. Each AWS permission has a scenario that uses it. Tests show that the
// scenario fails without the permission; most of these tests are in internal/test/harness.
package rights

import "strings"

// Partitions are the AWS partitions for which config/iam has a policy. The controller needs the same permissions in
// each partition. The first partition is "aws".
var Partitions = []string{"aws", "aws-cn", "aws-us-gov", "aws-eusc", "aws-iso", "aws-iso-b", "aws-iso-e", "aws-iso-f"}

// clusterTag is the key of the tag with the name of the cluster. The controller sets this tag on the resources that it
// creates.
const clusterTag = "elbv2.k8s.aws/cluster"

// Statement is a statement of an IAM policy: actions with the same resources and conditions.
type Statement struct {
	Sid string
	// Feature is the feature gate, flag, field or command that needs the statement. It is empty if every
	// installation needs the statement.
	Feature string
	// Resources are ARNs without "arn:" and partition, or nil for "*".
	Resources  []string
	Conditions []Condition
	Actions    []Action
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
	// Scenario is the scenario in which the controller uses the permission.
	Scenario Scenario
}

// ExampleConditionValues returns values with which all conditions of the statement are true, by condition key. The tag of
// the cluster has the given cluster name. A key that must be missing has no value.
func (s Statement) ExampleConditionValues(cluster string) map[string]string {
	out := map[string]string{}
	for _, c := range s.Conditions {
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

// ExampleResources returns an ARN that does not exist for each resource of the statement. If the statement is for all
// resources, it returns one empty string.
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

// Scenario is the name of a part of a test that runs the controller with only the permissions of the tables. See
// internal/test/harness/permissions_test.go.
type Scenario string
