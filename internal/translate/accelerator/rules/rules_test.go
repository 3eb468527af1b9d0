package rules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
)

func parseSpec(t *testing.T, doc string) *aga.GlobalAcceleratorSpec {
	t.Helper()
	var out aga.GlobalAcceleratorSpec
	if err := yaml.UnmarshalStrict([]byte(doc), &out); err != nil {
		t.Fatalf("%v in\n%s", err, doc)
	}
	return &out
}

func findViolations(t *testing.T, doc string) []rules.Violation {
	t.Helper()
	return rules.FindViolations(rules.Subject{Spec: parseSpec(t, doc), Namespace: "shop", Region: "eu-west-1"})
}

// violationLines returns violations as "check field value". Advice ends in a question mark.
func violationLines(all []rules.Violation) []string {
	out := []string{}
	for _, v := range all {
		line := fmt.Sprintf("%s %s %s", v.Check, v.Field, v.Value)
		if v.IsAdvice {
			line += "?"
		}
		out = append(out, line)
	}
	return out
}

// listenersYAML returns the YAML of listeners. Each item of list is "PROTOCOL FROM-TO FROM-TO ...". Protocol "-" means
// none.
func listenersYAML(list ...string) string {
	var b strings.Builder
	b.WriteString("listeners:\n")
	for _, l := range list {
		protocol, ranges, _ := strings.Cut(l, " ")
		b.WriteString("- endpointGroups: []\n")
		if protocol != "-" {
			b.WriteString("  protocol: " + protocol + "\n")
		}
		if ranges != "" {
			b.WriteString("  portRanges:\n")
		}
		for r := range strings.FieldsSeq(ranges) {
			from, to, _ := strings.Cut(r, "-")
			fmt.Fprintf(&b, "  - {fromPort: %s, toPort: %s}\n", from, to)
		}
	}
	return b.String()
}

const endpointGroupsFormat = "listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: %s}]"

func TestViolations(t *testing.T) {
	const e = "spec.listeners[0].endpointGroups[0].endpoints"
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"nothing":          {"{}", nil},
		"different spans":  {listenersYAML("TCP 80-442", "TCP 443-500"), nil},
		"different protos": {listenersYAML("TCP 80-80", "UDP 80-80"), nil},
		"overlap": {listenersYAML("TCP 80-443", "UDP 80-80", "TCP 443-500"), []string{
			"checkForOverlappingPortRanges spec.listeners[0].portRanges[0] 80-443", "checkForOverlappingPortRanges spec.listeners[2].portRanges[0] 443-500"}},
		"overlap in a listener": {listenersYAML("UDP 53-53 53-60"), []string{
			"checkForOverlappingPortRanges spec.listeners[0].portRanges[0] 53", "checkForOverlappingPortRanges spec.listeners[0].portRanges[1] 53-60"}},
		"overlap with discovery": {listenersYAML("- 80-443", "TCP 80-80", "TCP"), nil},
		"within a wide one": {listenersYAML("TCP 1-65535 80-80 90-90"), []string{
			"checkForOverlappingPortRanges spec.listeners[0].portRanges[0] 1-65535", "checkForOverlappingPortRanges spec.listeners[0].portRanges[1] 80",
			"checkForOverlappingPortRanges spec.listeners[0].portRanges[2] 90"}},
		"one endpoint twice": {fmt.Sprintf(endpointGroupsFormat, "[{endpoints: [{type: Service, name: api}, {type: Service, name: api, namespace: shop, weight: 1}]}]"),
			[]string{"checkForDuplicateEndpoints " + e + "[1] Service/shop/api"}},
		"an empty namespace": {fmt.Sprintf(endpointGroupsFormat, `[{endpoints: [{type: Ingress, name: a, namespace: ""}, {type: Ingress, name: a}, {type: Ingress, name: a, namespace: b}]}]`),
			[]string{"checkForDuplicateEndpoints " + e + "[1] Ingress/shop/a"}},
		"one id thrice": {fmt.Sprintf(endpointGroupsFormat, "[{endpoints: [{type: EndpointID, endpointID: i-1}, {type: EndpointID, endpointID: i-1}, {type: EndpointID, endpointID: i-1}]}]"),
			[]string{"checkForDuplicateEndpoints " + e + "[1] EndpointID/i-1", "checkForDuplicateEndpoints " + e + "[2] EndpointID/i-1"}},
		"names of other types": {fmt.Sprintf(endpointGroupsFormat, "[{endpoints: [{type: Service, name: a}, {type: Ingress, name: a}, {type: Gateway, name: a}]}]"), nil},
		"in two groups":        {fmt.Sprintf(endpointGroupsFormat, "[{endpoints: [{type: Service, name: a}]}, {region: us-east-1, endpoints: [{type: Service, name: a}]}]"), nil},
		"a region twice":       {fmt.Sprintf(endpointGroupsFormat, "[{region: eu-west-1}, {}]"), []string{"checkForDuplicateRegions spec.listeners[0].endpointGroups[1].region eu-west-1"}},
		"a region in two listeners": {"listeners: [{protocol: TCP, portRanges: [{fromPort: 1, toPort: 1}], endpointGroups: [{}]}, {protocol: TCP, portRanges: [{fromPort: 2, toPort: 2}], endpointGroups: [{}]}]",
			nil},
		"addresses":        {"ipAddresses: [198.51.100.10, 198.51.100.11]", nil},
		"wrong addresses":  {`ipAddresses: ["2001:db8::1", 198.51.100.300]`, []string{"checkIPAddresses spec.ipAddresses[0] 2001:db8::1", "checkIPAddresses spec.ipAddresses[1] 198.51.100.300"}},
		"an address twice": {"ipAddresses: [198.51.100.10, 198.51.100.10]", []string{"checkIPAddresses spec.ipAddresses[1] 198.51.100.10"}},
		"another region": {fmt.Sprintf(endpointGroupsFormat, "[{endpoints: [{type: EndpointID, endpointID: 'arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/net/a/1'}, {type: EndpointID, endpointID: i-1}]}]"),
			[]string{"checkEndpointRegions " + e + "[0].endpointID arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/net/a/1"}},
		"the region of its group": {fmt.Sprintf(endpointGroupsFormat, "[{region: us-east-1, endpoints: [{type: EndpointID, endpointID: 'arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/net/a/1'}, {type: EndpointID, endpointID: eipalloc-1}]}]"),
			nil},
		"overrides": {fmt.Sprintf(endpointGroupsFormat, "[{portOverrides: [{listenerPort: 80, endpointPort: 8080}]}]"), nil},
		"an override twice": {fmt.Sprintf(endpointGroupsFormat, "[{portOverrides: [{listenerPort: 80, endpointPort: 8080}, {listenerPort: 80, endpointPort: 8080}]}]"), []string{
			"checkForDuplicateOverrides spec.listeners[0].endpointGroups[0].portOverrides[1].listenerPort 80", "checkForDuplicateOverrides spec.listeners[0].endpointGroups[0].portOverrides[1].endpointPort 8080"}},
		"not of the listener": {fmt.Sprintf(endpointGroupsFormat, "[{portOverrides: [{listenerPort: 443, endpointPort: 8080}]}]"),
			[]string{"checkPortOverrides spec.listeners[0].endpointGroups[0].portOverrides[0].listenerPort 443?"}},
		"ports to be discovered": {"listeners: [{endpointGroups: [{portOverrides: [{listenerPort: 443, endpointPort: 8080}]}]}]", nil},
		"a port of another listener": {"listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{portOverrides: [{listenerPort: 80, endpointPort: 8080}]}]}, {protocol: UDP, portRanges: [{fromPort: 8000, toPort: 8999}]}]",
			[]string{"checkPortOverrides spec.listeners[0].endpointGroups[0].portOverrides[0].endpointPort 8080?"}},
		"an endpoint port of two listeners": {"listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{portOverrides: [{listenerPort: 80, endpointPort: 8080}]}]}, {protocol: TCP, portRanges: [{fromPort: 443, toPort: 443}], endpointGroups: [{portOverrides: [{listenerPort: 443, endpointPort: 8080}]}]}]",
			[]string{"checkPortOverrides spec.listeners[1].endpointGroups[0].portOverrides[0].endpointPort 8080?"}},
		"an endpoint port of two groups": {fmt.Sprintf(endpointGroupsFormat, "[{portOverrides: [{listenerPort: 80, endpointPort: 8080}]}, {region: us-east-1, portOverrides: [{listenerPort: 80, endpointPort: 8080}]}]"), nil},
		"many endpoints": {fmt.Sprintf(endpointGroupsFormat, "[{endpoints: ["+strings.Join(numberedTexts("{type: Service, name: s%d}", 11), ", ")+"]}]"),
			[]string{"checkQuotas spec.listeners[0].endpointGroups[0].endpoints 11?"}},
		"many listeners": {listenersYAML(numberedTexts("TCP %[1]d-%[1]d", 11)...), []string{"checkQuotas spec.listeners 11?"}},
		"many groups":    {fmt.Sprintf(endpointGroupsFormat, "["+strings.Join(numberedTexts("{region: r%d}", 43), ", ")+"]"), []string{"checkQuotas spec.listeners 43?"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := findViolations(t, c.spec)
			if d := cmp.Diff(append([]string{}, c.want...), violationLines(got)); d != "" {
				t.Error(d)
			}
			for _, v := range got {
				if v.Message == "" || v.Fix == "" || strings.ContainsAny(v.Text(), "\n\t") || len(v.Text()) > 600 {
					t.Errorf("%+v", v)
				}
			}
		})
	}
}

func numberedTexts(format string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i+1))
	}
	return out
}

// TestUnknownRegionsAreNotReported checks that an endpoint in an endpoint group without a region has no violation if the
// region of the cluster is not known.
func TestUnknownRegionsAreNotReported(t *testing.T) {
	spec := parseSpec(t, fmt.Sprintf(endpointGroupsFormat, "[{endpoints: [{type: EndpointID, endpointID: 'arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/net/a/1'}]}]"))
	if got := rules.FindViolations(rules.Subject{Spec: spec, Namespace: "shop"}); len(got) > 0 {
		t.Error(violationLines(got))
	}
}

// TestNewViolationsOmitsOldViolations checks that NewViolations does not return a violation that the old object already
// had, even if its position has changed.
func TestNewViolationsOmitsOldViolations(t *testing.T) {
	twice := func(names ...string) string {
		var all []string
		for _, n := range names {
			all = append(all, fmt.Sprintf("{type: Service, name: %[1]s}, {type: Service, name: %[1]s}", n))
		}
		return fmt.Sprintf(endpointGroupsFormat, "[{endpoints: ["+strings.Join(all, ", ")+"]}]")
	}
	for name, c := range map[string]struct{ was, now, want string }{
		"the same":                       {twice("a"), twice("a"), ""},
		"one more":                       {twice("a"), twice("b", "a"), "Service/shop/b"},
		"one less":                       {twice("a", "b"), twice("b"), ""},
		"a third time":                   {twice("a"), twice("a", "a"), "Service/shop/a,Service/shop/a"},
		"ranges that overlapped":         {listenersYAML("TCP 10-100", "TCP 20-30", "TCP 25-28"), listenersYAML("TCP 20-30", "TCP 25-28"), ""},
		"a listener in front":            {listenersYAML("TCP 10-100", "TCP 20-30"), listenersYAML("UDP 1-1", "TCP 10-100", "TCP 20-30"), ""},
		"a range that did not overlap":   {listenersYAML("TCP 10-100", "TCP 20-30", "TCP 200-201"), listenersYAML("TCP 10-100", "TCP 20-30", "TCP 200-201 201-201"), "200-201,201"},
		"another overlap of a bad range": {listenersYAML("TCP 10-100", "TCP 20-30"), listenersYAML("TCP 10-100", "TCP 20-30", "TCP 90-110"), "90-110"},
	} {
		var got []string
		for _, v := range rules.NewViolations(findViolations(t, c.was), findViolations(t, c.now)) {
			got = append(got, v.Value)
		}
		if s := strings.Join(got, ","); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// TestNewOverlapsAreExact checks for random port ranges that NewViolations returns overlaps if and only if two ranges
// overlap that did not both exist in the old object.
func TestNewOverlapsAreExact(t *testing.T) {
	type r struct {
		udp      bool
		from, to int32
	}
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		draw := func() r {
			from := int32(1 + random.IntN(12))
			return r{random.IntN(3) == 0, from, from + int32(random.IntN(4))}
		}
		var was, now []r
		for range random.IntN(6) {
			was = append(was, draw())
		}
		for _, x := range was {
			if random.IntN(3) > 0 {
				now = append(now, x)
			}
		}
		for range random.IntN(3) {
			now = append(now, draw())
		}
		random.Shuffle(len(now), func(i, j int) { now[i], now[j] = now[j], now[i] })
		count := func(all []r, x r) (n int) {
			for _, y := range all {
				if x == y {
					n++
				}
			}
			return n
		}
		pairs := func(all []r, a, b r) bool { // reports whether all has both ranges
			if a == b {
				return count(all, a) >= 2
			}
			return count(all, a) > 0 && count(all, b) > 0
		}
		want, any := false, false
		for i, a := range now {
			for _, b := range now[:i] {
				if a.udp == b.udp && a.from <= b.to && b.from <= a.to {
					any = true
					want = want || !pairs(was, a, b) || count(now, a) > max(1, count(was, a)) || count(now, b) > max(1, count(was, b))
				}
			}
		}
		doc := func(all []r) string {
			var out []string
			for _, x := range all {
				out = append(out, fmt.Sprintf("%s %d-%d", map[bool]string{true: "UDP", false: "TCP"}[x.udp], x.from, x.to))
			}
			return listenersYAML(out...)
		}
		count2 := func(all []rules.Violation) (n int) {
			for _, v := range all {
				if v.Check == rules.OverlappingPortRanges {
					n++
				}
			}
			return n
		}
		before, after := findViolations(t, doc(was)), findViolations(t, doc(now))
		if got := count2(after) > 0; got != any {
			t.Fatalf("seed %d: overlap %t, want %t\n%s", seed, got, any, doc(now))
		}
		if got := count2(rules.NewViolations(before, after)) > 0; got != want {
			t.Fatalf("seed %d: added %t, want %t\n%s\n%s", seed, got, want, doc(was), doc(now))
		}
	}
}

// TestAddressesOfAnAcceleratorCannotChange checks that spec.ipAddresses of an existing accelerator can be changed only
// to addresses that it has, and that addresses without effect can be removed.
func TestAddressesOfAnAcceleratorCannotChange(t *testing.T) {
	object := func(arn string, has []string, addresses ...string) *aga.GlobalAccelerator {
		out := &aga.GlobalAccelerator{}
		out.Spec.IPAddresses, out.Status.AcceleratorARN = addresses, arn
		out.Status.IPSets = []aga.IPSet{{IPAddresses: has}}
		return out
	}
	const arn = "arn:aws:globalaccelerator::1:accelerator/a"
	has := []string{"198.51.100.1", "203.0.113.2"}
	for name, c := range map[string]struct {
		arn      string
		was, now []string
		denied   bool
	}{
		"not made yet":             {"", []string{"198.51.100.1"}, []string{"198.51.100.9"}, false},
		"unchanged":                {arn, has, has, false},
		"in another order":         {arn, has, []string{has[1], has[0]}, false},
		"another address":          {arn, has[:1], []string{"198.51.100.9"}, true},
		"one more":                 {arn, has[:1], []string{has[0], "198.51.100.9"}, true},
		"none any more":            {arn, has[:1], nil, true},
		"added":                    {arn, nil, []string{"198.51.100.9"}, true},
		"those that it has":        {arn, nil, has, false},
		"what never took effect":   {arn, []string{"198.51.100.9"}, nil, false},
		"corrected to what it has": {arn, []string{"198.51.100.9"}, has[:1], false},
	} {
		got := rules.ImmutableFieldChanges(object(c.arn, has, c.was...), object("", nil, c.now...))
		if len(got) > 0 != c.denied || c.denied && (got[0].Field != "spec.ipAddresses" || got[0].Check != rules.ImmutableFields) {
			t.Errorf("%s: %v", name, violationLines(got))
		}
	}
}

// BenchmarkFindViolationsInLargeObject measures the checks of a very large object. They must take far less time than the
// timeout of the API server for a webhook.
func BenchmarkFindViolationsInLargeObject(b *testing.B) {
	spec := &aga.GlobalAcceleratorSpec{}
	for i := range 4000 {
		l := aga.Listener{Protocol: aga.ProtocolTCP}
		for k := range 10 {
			l.PortRanges = append(l.PortRanges, aga.PortRange{FromPort: int32(1 + k), ToPort: int32(65535 - i)})
		}
		l.EndpointGroups = []aga.EndpointGroup{{PortOverrides: []aga.PortOverride{{ListenerPort: int32(i), EndpointPort: int32(i)}}, Endpoints: []aga.Endpoint{{Type: "Service", Name: "a"}, {Type: "Service", Name: "a"}}}}
		spec.Listeners = append(spec.Listeners, l)
	}
	for b.Loop() {
		rules.FindViolations(rules.Subject{Spec: spec, Namespace: "shop", Region: "eu-west-1"})
	}
}
