package rights

import (
	"bytes"
	"encoding/json"
	"slices"
)

// document is an IAM policy, in the order in which policies are written.
type document struct {
	Version   string
	Statement []statement
}

type statement struct {
	Sid       string
	Effect    string
	Action    oneOrMore
	Resource  oneOrMore
	Condition map[string]map[string]oneOrMore `json:",omitempty"`
}

// oneOrMore is written as one string where it is one.
type oneOrMore []string

// MarshalJSON writes it.
func (o oneOrMore) MarshalJSON() ([]byte, error) {
	if len(o) == 1 {
		return json.Marshal(o[0])
	}
	return json.Marshal([]string(o))
}

// Policy is what every installation in a partition needs, as an IAM policy.
func Policy(partition string) []byte {
	return render(partition, func(s Statement) bool { return s.Feature == "" })
}

// Optional are the statements of the features, each named after its own. They hold no ARN, so they are
// the same in every partition.
func Optional() []byte {
	return render(Partitions[0], func(s Statement) bool { return s.Feature != "" })
}

// Targets is what an installation needs that makes no load balancers, and only registers targets in target groups that
// TargetGroupBindings name, as an IAM policy.
func Targets(partition string) []byte {
	return renderAll(partition, func(s Statement) bool { return s.Feature == "" },
		func(_ Statement, a Action) bool { return !slices.Contains(forTargets, a.Name) })
}

// ForTargets are the actions of Targets, in order.
func ForTargets() []string { return slices.Clone(forTargets) }

// TargetsFile is the name of the file in config/iam with Targets.
const TargetsFile = "targets.json"

// Without is a policy of all statements in a partition without one permission, the table if sid is empty.
// Only the features that are named are in it.
func Without(partition, sid, action string, features ...string) []byte {
	return renderAll(partition, func(s Statement) bool { return s.Feature == "" || slices.Contains(features, s.Feature) },
		func(s Statement, a Action) bool { return s.Sid == sid && a.Name == action })
}

func render(partition string, in func(Statement) bool) []byte {
	return renderAll(partition, in, func(Statement, Action) bool { return false })
}

func renderAll(partition string, in func(Statement) bool, without func(Statement, Action) bool) []byte {
	return renderTable(AWS, partition, in, without)
}

func renderTable(table []Statement, partition string, in func(Statement) bool, without func(Statement, Action) bool) []byte {
	d := document{Version: "2012-10-17"}
	for _, s := range table {
		if !in(s) {
			continue
		}
		out := statement{Sid: s.Sid, Effect: "Allow", Resource: oneOrMore{"*"}}
		for _, a := range s.Actions {
			if !without(s, a) {
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
		for _, c := range s.Condition {
			if out.Condition == nil {
				out.Condition = map[string]map[string]oneOrMore{}
			}
			if out.Condition[c.Operator] == nil {
				out.Condition[c.Operator] = map[string]oneOrMore{}
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
		panic(err) // strings and lists of them
	}
	return b.Bytes()
}

// PolicyFile is the name of the file in config/iam with the policy of a partition.
func PolicyFile(partition string) string {
	if partition == Partitions[0] {
		return "policy.json"
	}
	return "policy-" + partition + ".json"
}
