package rights

import (
	"fmt"
	"strings"
)

// generatedNote is the first line of every generated file of config/rbac.
const generatedNote = "# Generated from config/rights by go generate. Do not edit.\n"

// RoleFile returns the YAML of a file in config/rbac: roles, each with its binding.
func RoleFile(file string) []byte {
	var b strings.Builder
	b.WriteString(generatedNote)
	first := true
	for _, r := range KubernetesRoles {
		if r.File != file {
			continue
		}
		if !first {
			b.WriteString("---\n")
		}
		first = false
		r.writeYAML(&b)
	}
	return []byte(b.String())
}

// ServiceAccountFile returns the YAML of the service account.
func ServiceAccountFile() []byte {
	return fmt.Appendf(nil, "%sapiVersion: v1\nkind: ServiceAccount\n%s", generatedNote, metadataYAML(ServiceAccount, true))
}

func metadataYAML(name string, namespaced bool) string {
	out := "metadata:\n  name: " + name + "\n"
	if namespaced {
		out += "  namespace: " + Namespace + "\n"
	}
	return out + "  labels: {app.kubernetes.io/name: fulcrum}\n"
}

func (r Role) kind() string {
	if r.Namespaced {
		return "Role"
	}
	return "ClusterRole"
}

func (r Role) writeYAML(b *strings.Builder) {
	if r.Reason != "" {
		b.WriteString("# " + strings.ReplaceAll(r.Reason, "\n", "\n# ") + "\n")
	}
	fmt.Fprintf(b, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\n%srules:\n", r.kind(), metadataYAML(r.Name, r.Namespaced))
	for _, rule := range r.Rules {
		group := rule.Group
		if group == "" {
			group = `""`
		}
		fmt.Fprintf(b, "  # To %s.\n  - apiGroups: [%s]\n    resources: [%s]\n", rule.Reason, group, strings.Join(rule.Resources, ", "))
		if rule.Names != nil {
			fmt.Fprintf(b, "    resourceNames: [%s]\n", strings.Join(rule.Names, ", "))
		}
		fmt.Fprintf(b, "    verbs: [%s]\n", strings.Join(rule.Verbs, ", "))
	}
	fmt.Fprintf(b, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %sBinding\n%s", r.kind(), metadataYAML(r.Name, r.Namespaced))
	fmt.Fprintf(b, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}\n", r.kind(), r.Name)
	fmt.Fprintf(b, "subjects:\n  - {kind: ServiceAccount, name: %s, namespace: %s}\n", ServiceAccount, Namespace)
}
