package settings

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// paramsWithAllFields returns class parameters with a value in every field except NamespaceSelector, PrefixListsIDsLegacy
// and WAFv2ACLArn. The web ACL is set by name.
func paramsWithAllFields() *v1beta1.IngressClassParams {
	p := &v1beta1.IngressClassParams{}
	p.Name = "all"
	p.Spec = v1beta1.IngressClassParamsSpec{
		LoadBalancerName: "name", CertificateArn: []string{"arn:class"}, Group: &v1beta1.IngressGroup{Name: "class"},
		Scheme: new(v1beta1.LoadBalancerSchemeInternetFacing), InboundCIDRs: []string{"192.0.2.0/24"},
		SSLPolicy: "policy", SSLRedirectPort: "8443", Subnets: &v1beta1.SubnetSelector{IDs: []v1beta1.SubnetID{"subnet-1"}},
		IPAddressType: new(v1beta1.IPAddressTypeDualStack), Tags: []v1beta1.Tag{{Key: "k", Value: "class"}},
		TargetType:                  new(v1beta1.TargetTypeIP),
		LoadBalancerAttributes:      []v1beta1.Attribute{{Key: "k", Value: "class"}},
		Listeners:                   []v1beta1.Listener{{Protocol: "HTTPS", Port: 443, ListenerAttributes: []v1beta1.Attribute{{Key: "k", Value: "class"}}}},
		MinimumLoadBalancerCapacity: &v1beta1.MinimumLoadBalancerCapacity{CapacityUnits: 7},
		IPAMConfiguration:           &v1beta1.IPAMConfiguration{IPv4IPAMPoolId: new("ipam-class")},
		PrefixListsIDs:              []string{"pl-class"}, WAFv2ACLName: "acl",
	}
	return p
}

// replaceableAnnotations has the annotations that class parameters can replace, by key without prefix. The values differ
// from those in paramsWithAllFields.
var replaceableAnnotations = map[string]string{
	"group.name": "mine", "load-balancer-name": "mine", "certificate-arn": "arn:mine", "scheme": "internal", "inbound-cidrs": "0.0.0.0/0",
	"ssl-policy": "mine", "ssl-redirect": "443", "subnets": "subnet-2", "ip-address-type": "ipv4", "tags": "k=mine", "target-type": "instance",
	"load-balancer-attributes": "k=mine", "listener-attributes.HTTPS-443": "k=mine", "minimum-load-balancer-capacity": "CapacityUnits=1",
	"ipam-ipv4-pool-id": "ipam-mine", "security-group-prefix-lists": "pl-mine", "wafv2-acl-arn": "arn:mine", "wafv2-acl-name": "mine",
}

func parseAnnotations(values map[string]string) Ingress {
	prefixed := map[string]string{}
	for k, v := range values {
		prefixed[Prefix+k] = v
	}
	return ParseIngress(prefixed, finding.Ref{Kind: "Ingress", Namespace: "ns", Name: "web"})
}

func TestClassParametersReplaceAnnotations(t *testing.T) {
	in := parseAnnotations(replaceableAnnotations).WithClass(paramsWithAllFields())
	of := func(field string) finding.Origin {
		return finding.Origin{Object: finding.Ref{Kind: "IngressClassParams", Name: "all"}, Field: "spec." + field}
	}
	check := func(name string, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got, cmpopts.EquateErrors()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	check("group", NewOpt("class", of("group.name")), in.GroupName)
	check("name", NewOpt("name", of("loadBalancerName")), in.Name)
	check("certificates", NewOpt([]string{"arn:class"}, of("certificateArn")), in.Certificates)
	check("scheme", NewOpt(model.InternetFacing, of("scheme")), in.Scheme)
	check("ranges", NewOpt([]string{"192.0.2.0/24"}, of("inboundCIDRs")), in.InboundCIDRs)
	check("policy", NewOpt("policy", of("sslPolicy")), in.SSLPolicy)
	check("redirect", NewOpt(int32(8443), of("sslRedirectPort")), in.SSLRedirect)
	check("subnets annotation", Opt[[]string]{}, in.Subnets)
	check("subnets", []string{"subnet-1"}, in.Class.SubnetIDs)
	check("address type", NewOpt(model.DualStack, of("ipAddressType")), in.AddressType)
	check("tags", map[string]string{"k": "class"}, in.Class.Tags)
	check("target type", NewOpt(model.IPTargets, of("targetType")), in.Class.TargetType)
	check("attributes", map[string]string{"k": "class"}, in.Class.Attributes)
	check("listener attributes", map[string]map[string]string{"HTTPS-443": {"k": "class"}}, in.Class.ListenerAttributes)
	check("capacity", new(int32(7)), in.Class.Capacity)
	check("pool", "ipam-class", in.Class.IPAMPool)
	check("prefix lists", NewOpt([]string{"pl-class"}, of("prefixListsIDs")), in.PrefixLists)
	check("web ACL by name", NewOpt("acl", of("wafv2AclName")), in.WAFv2Name)
	check("web ACL by ARN", Opt[string]{}, in.WAFv2ARN)
}

func TestEmptyClassParametersReplaceNothing(t *testing.T) {
	empty := &v1beta1.IngressClassParams{}
	// Older clients write empty lists instead of omitting the fields.
	empty.Spec.CertificateArn, empty.Spec.InboundCIDRs, empty.Spec.PrefixListsIDs = []string{}, []string{}, []string{}
	got, want := parseAnnotations(replaceableAnnotations).WithClass(empty), parseAnnotations(replaceableAnnotations)
	got.Class, want.Class = Class{}, Class{}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Ingress{})); d != "" {
		t.Error(d)
	}
}

func TestLegacyPrefixListsAreUsedIfNewFieldIsEmpty(t *testing.T) {
	p := &v1beta1.IngressClassParams{}
	p.Spec.PrefixListsIDsLegacy = []string{"pl-old"}
	if got := parseAnnotations(replaceableAnnotations).WithClass(p).PrefixLists; !got.Set || got.Value[0] != "pl-old" {
		t.Errorf("got %+v", got)
	}
	p.Spec.PrefixListsIDs = []string{"pl-new"}
	if got := parseAnnotations(replaceableAnnotations).WithClass(p).PrefixLists; got.Value[0] != "pl-new" {
		t.Errorf("both: got %+v", got)
	}
}

// TestParamsWithAllFieldsHasAllFields checks that paramsWithAllFields has a value in every field of the class parameters,
// including new fields, except those that other tests cover.
func TestParamsWithAllFieldsHasAllFields(t *testing.T) {
	spec := reflect.ValueOf(paramsWithAllFields().Spec)
	elsewhere := []string{"NamespaceSelector", "PrefixListsIDsLegacy", "WAFv2ACLArn"}
	for i := range spec.NumField() {
		name := spec.Type().Field(i).Name
		if spec.Field(i).IsZero() != slices.Contains(elsewhere, name) {
			t.Errorf("%s has no value", name)
		}
	}
}

// TestWithoutClassRemovesAllClassSettings checks that WithoutClassSettings removes every annotation that class parameters
// can replace, and keeps other annotations.
func TestWithoutClassRemovesAllClassSettings(t *testing.T) {
	left := parseAnnotations(replaceableAnnotations).WithoutClassSettings()
	if d := cmp.Diff(Ingress{}, left, cmp.AllowUnexported(Ingress{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	kept := map[string]string{"group.order": "7", "security-groups": "sg-1", "manage-backend-security-group-rules": "true", "listen-ports": `[{"HTTP":80}]`,
		"enable-frontend-nlb": "true", "shield-advanced-protection": "true", "waf-acl-id": "x", "use-regex-path-match": "true", "auth-type": "oidc"}
	if d := cmp.Diff(parseAnnotations(kept), parseAnnotations(kept).WithoutClassSettings(), cmp.AllowUnexported(Ingress{})); d != "" {
		t.Errorf("what no class replaces (-want +got):\n%s", d)
	}
}
