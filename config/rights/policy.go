package rights

import (
	"bytes"
	"encoding/json"
	"slices"
)

// policyDocument is an IAM policy. Its JSON has the fields in the usual order.
type policyDocument struct {
	Version   string
	Statement []policyStatement
}

type policyStatement struct {
	Sid       string
	Effect    string
	Action    stringOrList
	Resource  stringOrList
	Condition map[string]map[string]stringOrList `json:",omitempty"`
}

// stringOrList is a list of strings. Its JSON is a string if the list has one element, and an array otherwise.
type stringOrList []string

// MarshalJSON implements [json.Marshaler].
func (o stringOrList) MarshalJSON() ([]byte, error) {
	if len(o) == 1 {
		return json.Marshal(o[0])
	}
	return json.Marshal([]string(o))
}

// Policy returns the IAM policy that every installation in a partition needs.
func Policy(partition string) []byte {
	return renderPolicy(AWSStatements, partition, func(s Statement) bool { return s.Feature == "" }, nil)
}

// OptionalPolicy returns the IAM policy with the statements that only certain features need. Each statement is named after
// its feature. No ARN in the policy names a partition, so the policy is the same in every partition.
func OptionalPolicy() []byte {
	return renderPolicy(AWSStatements, Partitions[0], func(s Statement) bool { return s.Feature != "" }, nil)
}

// TargetsPolicy returns the IAM policy for an installation that creates no load balancers, and only registers targets in the
// target groups of TargetGroupBindings.
func TargetsPolicy(partition string) []byte {
	return renderPolicy(AWSStatements, partition, func(s Statement) bool { return s.Feature == "" },
		func(_ Statement, a Action) bool { return !slices.Contains(targetActions, a.Name) })
}

// TargetActions returns the actions of TargetsPolicy, in ascending order.
func TargetActions() []string { return slices.Clone(targetActions) }

// TargetsFile is the name of the file in config/iam with TargetsPolicy.
const TargetsFile = "targets.json"

// PolicyWithoutAction returns an IAM policy with the statements that every installation needs and those of the given features,
// without the given action in the statement sid. If sid is empty, the policy is complete.
func PolicyWithoutAction(partition, sid, action string, features ...string) []byte {
	return renderPolicy(AWSStatements, partition, func(s Statement) bool { return s.Feature == "" || slices.Contains(features, s.Feature) },
		func(s Statement, a Action) bool { return s.Sid == sid && a.Name == action })
}

// renderPolicy returns, as JSON, the IAM policy with the statements of a table for which includes returns true. It omits the
// actions for which omits returns true. If omits is nil, it omits no action.
func renderPolicy(table []Statement, partition string, includes func(Statement) bool, omits func(Statement, Action) bool) []byte {
	d := policyDocument{Version: "2012-10-17"}
	for _, s := range table {
		if !includes(s) {
			continue
		}
		out := policyStatement{Sid: s.Sid, Effect: "Allow", Resource: stringOrList{"*"}}
		for _, a := range s.Actions {
			if omits == nil || !omits(s, a) {
				out.Action = append(out.Action, a.Name)
			}
		}
		if len(out.Action) == 0 {
			continue
		}
		if s.Resources != nil {
			out.Resource = nil
		}
		for _, r := range s.Resources {
			out.Resource = append(out.Resource, "arn:"+partition+":"+r)
		}
		for _, c := range s.Conditions {
			if out.Condition == nil {
				out.Condition = map[string]map[string]stringOrList{}
			}
			if out.Condition[c.Operator] == nil {
				out.Condition[c.Operator] = map[string]stringOrList{}
			}
			out.Condition[c.Operator][c.Key] = c.Values
		}
		d.Statement = append(d.Statement, out)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		panic(err) // strings and lists of strings always marshal
	}
	return b.Bytes()
}

// PolicyFile returns the name of the file in config/iam with the policy of a partition.
func PolicyFile(partition string) string {
	if partition == Partitions[0] {
		return "policy.json"
	}
	return "policy-" + partition + ".json"
}
