package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// fuzzRows fuzzes the values of those Ingress annotations that the function of selects. It checks that no parser panics,
// that the same text gives the same result twice, and that a fault names the annotation and the object, has a fix, and has a
// message of limited length.
func fuzzRows(f *testing.F, of func(Row) bool, seeds ...string) {
	fuzzTable(f, ingressTable, of, seeds)
}

// fuzzServiceRows is like fuzzRows, for the annotations of Services that have a load balancer.
func fuzzServiceRows(f *testing.F, of func(Row) bool, seeds ...string) {
	fuzzTable(f, serviceTable, of, seeds)
}

func fuzzTable[S any](f *testing.F, table []row[S], of func(Row) bool, seeds []string) {
	var rows []row[S]
	for _, r := range table {
		if r.read != nil && of(r.Row) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		f.Fatal("no row")
	}
	for i := range rows {
		for _, s := range append(seeds, "", " ", "x", `"`, "\x00", "\xff") {
			f.Add(i, "web", s)
		}
	}
	f.Fuzz(func(t *testing.T, i int, rest, raw string) {
		if i < 0 || i >= len(rows) {
			t.Skip()
		}
		r := rows[i]
		head := r.fixedKey
		if r.hasName {
			head += rest
		}
		at := map[string]string{head: raw}
		object := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
		_ = ParseIngress(at, object)
		_ = ParseService(at, object)
		_ = ParseLoadBalancerService(at, object)
		_ = IngressAnnotations.FindProbableMistakes(at, object)
		_ = ServiceAnnotations.FindProbableMistakes(at, object)
		var once, twice S
		from := finding.Origin{Object: object, Field: head}
		err, again := r.read(&once, rest, raw, from), r.read(&twice, rest, raw, from)
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Errorf("%q is %v, and then %v", raw, err, again)
		}
		if err == nil {
			if diff := cmp.Diff(once, twice, cmp.AllowUnexported(Ingress{}, LoadBalancerService{}, deprecatedAttributes{})); diff != "" {
				t.Errorf("%q is read in two ways:\n%s", raw, diff)
			}
			return
		}
		f := Fault{Origin: from, Err: err}.Finding(finding.BlocksRule)
		if f.Field != from.Field || f.Object != object || f.Fix == "" || len(f.Message) > 1000+4*len(raw) {
			t.Errorf("%q: %s", raw, f)
		}
	})
}

func hasKeyPrefix(prefix string) func(Row) bool {
	return func(r Row) bool { return strings.HasPrefix(r.Key, prefix) }
}

func hasType(kinds ...string) func(Row) bool {
	return func(r Row) bool {
		for _, k := range kinds {
			if r.Type == k || strings.Contains(r.Type, k+",") || strings.Contains(r.Type, k+" ") {
				return true
			}
		}
		return false
	}
}

func FuzzListenPorts(f *testing.F) { fuzzRows(f, hasKeyPrefix("listen-ports"), listenPortsForm) }
func FuzzMutualAuth(f *testing.F)  { fuzzRows(f, hasKeyPrefix("mutual-authentication"), mutualAuthForm) }
func FuzzActions(f *testing.F) {
	fuzzRows(f, hasKeyPrefix("actions."), actionForm,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"a","servicePort":"80","weight":1}],"targetGroupStickinessConfig":{"enabled":true}}}`,
		`{"type":"redirect","redirectConfig":{"statusCode":"HTTP_301"}}`)
}
func FuzzConditions(f *testing.F) {
	fuzzRows(f, hasKeyPrefix("conditions."), conditionsForm, `[{"field":"query-string","queryStringConfig":{"values":[{"key":"a","value":"b"}]}}]`)
}
func FuzzTransforms(f *testing.F) { fuzzRows(f, hasKeyPrefix("transforms."), transformsForm) }
func FuzzAuth(f *testing.F)       { fuzzRows(f, hasKeyPrefix("auth-"), cognitoForm, oidcForm, "deny", "60") }
func FuzzJWT(f *testing.F)        { fuzzRows(f, hasKeyPrefix("jwt-validation"), jwtForm) }
func FuzzMaps(f *testing.F) {
	fuzzRows(f, hasType("map"), "a=b", `a=\,b,c=d`, "CapacityUnits=5", "80=443", "dns_record.client_routing_policy=any_availability_zone")
}
func FuzzLists(f *testing.F) { fuzzRows(f, hasType("list"), "a, b", "10.0.0.0/8,::/0") }
func FuzzNumbers(f *testing.F) {
	fuzzRows(f, hasType("int"), "1", "-1000", "traffic-port", "99999999999")
}
func FuzzTexts(f *testing.F) {
	other := hasType("map", "list", "int", "json")
	fuzzRows(f, func(r Row) bool { return !other(r) }, "true", "ip", "internal", "HTTP")
}

func FuzzServiceActions(f *testing.F) {
	fuzzServiceRows(f, hasKeyPrefix("actions."), networkActionForm, `{"type":"forward"}`, `{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"a","weight":1}]}}`)
}

func FuzzServiceValues(f *testing.F) {
	fuzzServiceRows(f, func(r Row) bool { return r.Type != "json" }, "true", "ip", "internal", "on", "TCP", "*", "80, 443", "a=b,", `a=x\,y,b=2`,
		"preserve_client_ip.enabled=x", "10.0.0.9", "2001:DB8::0A", "2001:db8::/80,auto_assigned", "0.0.0.0/0", "CapacityUnits=5")
}

func TestEveryRowIsFuzzed(t *testing.T) {
	json := []string{"listen-ports", "mutual-authentication", "actions.", "conditions.", "transforms.", "auth-", "jwt-validation"}
	for _, r := range ingressTable {
		if r.read == nil || r.Type != "json" {
			continue // without a parser, or covered by fuzzing the rows of its type
		}
		found := false
		for _, key := range json {
			found = found || strings.HasPrefix(r.Key, key)
		}
		if !found {
			t.Errorf("%s has no fuzz target", r.Key)
		}
	}
}
