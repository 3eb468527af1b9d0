package cases

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// nameTable maps generated IDs and ARNs to fixed names.
type nameTable map[string]string

// seededNames returns a name table with the seeded resources.
func seededNames(w harness.Seeded) nameTable {
	n := nameTable{w.VPC: "vpc", w.NodeSG: "sg:nodes", w.ExtraSG: "sg:extra", w.WebACL: "webacl", w.PrefixList: "prefix-list"}
	for domain, arn := range w.Certs {
		n[arn] = "cert:" + domain
	}
	for i, id := range w.EIPs {
		n[id] = fmt.Sprintf("eip-%d", i)
	}
	for name, arn := range w.TargetGroups {
		n[arn] = "tg:" + name
	}
	for i, instance := range w.Instances {
		n[instance.ID] = fmt.Sprintf("node-%d", i)
	}
	return n
}

// nameOf returns the name of an ID, or the ID if it has no name.
func (n nameTable) nameOf(id string) string {
	if name, ok := n[id]; ok {
		return name
	}
	return id
}

// replacer returns a replacer for all IDs in a text. Longer IDs come first, since one may be a prefix of another.
func (n nameTable) replacer() *strings.Replacer {
	keys := slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, k := range keys {
		if k != "" {
			pairs = append(pairs, k, n[k])
		}
	}
	return strings.NewReplacer(pairs...)
}

// renameAll replaces IDs in all strings of a value.
func renameAll(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = renameAll(e, r)
		}
	case []any:
		for i, e := range v {
			v[i] = renameAll(e, r)
		}
	case string:
		return r.Replace(v)
	}
	return v
}

// recordedPort returns "nodeport" for a port in the node port range, and the number of any other port.
func recordedPort(n int32) string {
	if n >= 30000 && n <= 32767 {
		return "nodeport"
	}
	return strconv.Itoa(int(n))
}

// recordedPortText returns the result of recordedPort if the text is a number. It returns other texts unchanged.
func recordedPortText(s string) string {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return recordedPort(int32(n))
	}
	return s
}

var generatedHash = regexp.MustCompile(`^(k8s-.*-)[0-9a-f]{10}$`)

// belongsToGateway reports whether the resource with the tags belongs to a Gateway.
func belongsToGateway(tags map[string]string) bool {
	return tags["gateway.k8s.aws.alb/stack"]+tags["gateway.k8s.aws.nlb/stack"] != ""
}

// nameWithoutUIDHash returns the name of a load balancer or of its security group. For a Service or Gateway, it replaces
// the hash in the name, which depends on a UID.
func nameWithoutUIDHash(name string, tags map[string]string) string {
	if tags["service.k8s.aws/stack"] != "" || belongsToGateway(tags) {
		return withoutHash(name)
	}
	return name
}

// withoutHash replaces the hash in a generated name by "#".
func withoutHash(name string) string { return generatedHash.ReplaceAllString(name, "${1}#") }
