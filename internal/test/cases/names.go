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

// nameTable knows what generated ids and ARNs stand for.
type nameTable map[string]string

// seededNames are the names of what existed beforehand.
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

// of names an id; ids without a name stand for themselves.
func (n nameTable) of(id string) string {
	if name, ok := n[id]; ok {
		return name
	}
	return id
}

// replacer replaces every id within a text. Longer ids come first, so that none is taken for a part
// of another.
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

// renameAll replaces ids in all texts within a value.
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

// port writes a port of the node port range as what it is; others as they are.
func port(n int32) string {
	if n >= 30000 && n <= 32767 {
		return "nodeport"
	}
	return strconv.Itoa(int(n))
}

// portText is port for a port in a text that may say something else.
func portText(s string) string {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil {
		return port(int32(n))
	}
	return s
}

var generatedHash = regexp.MustCompile(`^(k8s-.*-)[0-9a-f]{10}$`)

// ofGateway reports whether tags are those of a resource of a Gateway.
func ofGateway(tags map[string]string) bool {
	return tags["gateway.k8s.aws.alb/stack"]+tags["gateway.k8s.aws.nlb/stack"] != ""
}

// ownedName is the name of a load balancer or its security group, in which the UID of a Service or a Gateway is hashed.
func ownedName(name string, tags map[string]string) string {
	if tags["service.k8s.aws/stack"] != "" || ofGateway(tags) {
		return withoutHash(name)
	}
	return name
}

// withoutHash replaces the hash of a generated name.
func withoutHash(name string) string { return generatedHash.ReplaceAllString(name, "${1}#") }
