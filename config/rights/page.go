package rights

import (
	"fmt"
	"strings"
)

// PermissionTables returns the part of docs/permissions.md with the tables of permissions, as Markdown.
func PermissionTables() string {
	var b strings.Builder
	b.WriteString("## Permissions in AWS\n\nThe controller needs each row of the tables. The last column names the part of the test that fails without the permission; the full name is " +
		"`internal/test/harness TestWithoutPermission/STATEMENT/ACTION`. For accelerators and `fulcrum doctor`, the column has the full name of the test.\n")
	writeStatements(&b, AWSStatements, "optional.json")
	writeStatements(&b, AcceleratorStatements, AcceleratorsFile)
	b.WriteString("\n## Permissions in Kubernetes\n\nTests named `TestWithoutVerb…` and `TestWithoutListOrWatch` run without one verb at a time.\n")
	for _, r := range KubernetesRoles {
		fmt.Fprintf(&b, "\n### %s `%s` in `%s`", r.kind(), r.Name, r.File)
		if r.Feature != "" {
			fmt.Fprintf(&b, ", for %s", r.Feature)
		}
		b.WriteString("\n\n| Group | Resources | Verbs | Needed to |\n|---|---|---|---|\n")
		for _, rule := range r.Rules {
			group := rule.Group
			if group == "" {
				group = "core"
			}
			resources := strings.Join(rule.Resources, ", ")
			if rule.Names != nil {
				resources += " named " + strings.Join(rule.Names, ", ")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", group, resources, strings.Join(rule.Verbs, ", "), rule.Reason)
		}
	}
	return b.String()
}

// writeStatements writes a heading for each feature, and a table for each statement. file is the policy file with the
// statements that have a feature.
func writeStatements(b *strings.Builder, table []Statement, file string) {
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
		fmt.Fprintf(b, "\n`%s`, on %s%s:\n\n| Action | Needed to | Tested by |\n|---|---|---|\n", s.Sid, s.resourcesText(), s.conditionsText())
		for _, a := range s.Actions {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", a.Name, a.Reason, a.Scenario)
		}
	}
}

// resourcesText returns the resources of a statement as Markdown: the last part of each ARN, or "every resource".
func (s Statement) resourcesText() string {
	if s.Resources == nil {
		return "every resource"
	}
	out := make([]string, len(s.Resources))
	for i, r := range s.Resources {
		out[i] = "`" + strings.SplitN(r, ":", 4)[3] + "`"
	}
	return strings.Join(out, ", ")
}

// conditionsText returns the conditions of a statement as Markdown that follows resourcesText, or "" if there are none.
func (s Statement) conditionsText() string {
	out := ""
	for _, c := range s.Conditions {
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
