package rights

import (
	"fmt"
	"strings"
)

// Tables returns the part of docs/permissions.md that lists the permissions.
func Tables() string {
	var b strings.Builder
	b.WriteString("## Permissions in AWS\n\nEach row of a table is needed. The last column names the part of the test that fails without it; the whole name is " +
		"`internal/test/harness TestWithoutPermission/STATEMENT/ACTION`.\n")
	statements(&b, AWS, "optional.json")
	statements(&b, Accelerators, AcceleratorsFile)
	b.WriteString("\n## Rights in Kubernetes\n\nTests named `TestWithoutVerb…` and `TestWithoutListOrWatch` take away one verb after the other.\n")
	for _, r := range Kubernetes {
		fmt.Fprintf(&b, "\n### %s `%s` in `%s`", r.kind(), r.Name, r.File)
		if r.Feature != "" {
			fmt.Fprintf(&b, ", for %s", r.Feature)
		}
		b.WriteString("\n\n| Group | Resources | Verbs | They are needed to |\n|---|---|---|---|\n")
		for _, rule := range r.Rules {
			group := rule.Group
			if group == "" {
				group = "core"
			}
			resources := strings.Join(rule.Resources, ", ")
			if rule.Names != nil {
				resources += " named " + strings.Join(rule.Names, ", ")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", group, resources, strings.Join(rule.Verbs, ", "), rule.Why)
		}
	}
	return b.String()
}

// statements writes a table for each statement, with a title for each feature. file is the name of the policy file with the
// statements of the features.
func statements(b *strings.Builder, table []Statement, file string) {
	feature := "none"
	for _, s := range table {
		if s.Feature != feature {
			feature = s.Feature
			if feature == "" {
				b.WriteString("\n### Always, in `policy.json`\n")
			} else {
				fmt.Fprintf(b, "\n### With `%s`, in `%s`\n", feature, file)
			}
		}
		fmt.Fprintf(b, "\n`%s`, on %s%s:\n\n| Action | It is needed to | Tested by |\n|---|---|---|\n", s.Sid, s.on(), s.when())
		for _, a := range s.Actions {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", a.Name, a.Why, a.Scenario)
		}
	}
}

// on describes the resources of a statement.
func (s Statement) on() string {
	if s.Resources == nil {
		return "every resource"
	}
	out := make([]string, len(s.Resources))
	for i, r := range s.Resources {
		out[i] = "`" + strings.SplitN(r, ":", 4)[3] + "`"
	}
	return strings.Join(out, ", ")
}

// when describes the conditions of a statement.
func (s Statement) when() string {
	out := ""
	for _, c := range s.Condition {
		switch {
		case c.Operator == "Null" && c.Values[0] == "false":
			out += fmt.Sprintf(", with `%s`", c.Key)
		case c.Operator == "Null":
			out += fmt.Sprintf(", without `%s`", c.Key)
		default:
			out += fmt.Sprintf(", where `%s` is `%s`", c.Key, strings.Join(c.Values, "` or `"))
		}
	}
	return out
}
