package naming_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

func TestSettingNameDependsOnTheStackKind(t *testing.T) {
	for _, c := range []struct {
		kind          model.Kind
		setting       string
		name, inField string
	}{
		{model.Ingress, "tags", "tags", "alb.ingress.kubernetes.io/tags"},
		{model.Service, "scheme", "scheme", "service.beta.kubernetes.io/aws-load-balancer-scheme"},
		{model.Service, "certificate-arn", "ssl-cert", "service.beta.kubernetes.io/aws-load-balancer-ssl-cert"},
		{model.Service, "inbound-cidrs", "spec.loadBalancerSourceRanges", "spec.loadBalancerSourceRanges"},
		{model.Service, "group.name", "fulcrum.dev/load-balancer-group", "fulcrum.dev/load-balancer-group"},
		{model.ALBGateway, "scheme", "scheme", "scheme"},
	} {
		if got := naming.SettingName(c.kind, c.setting); got != c.name {
			t.Errorf("%s of %s is named %q, want %q", c.setting, c.kind, got, c.name)
		}
		if got := naming.SettingField(c.kind, c.setting); got != c.inField {
			t.Errorf("field of %s of %s is %q, want %q", c.setting, c.kind, got, c.inField)
		}
	}
}

// TestServiceAnnotationsOfSettingsExist checks for a list of settings that SettingField returns an annotation in the table
// of annotations of Services.
func TestServiceAnnotationsOfSettingsExist(t *testing.T) {
	rows := settings.ServiceAnnotations.Rows()
	for _, setting := range []string{
		"group.name", "actions", "load-balancer-name", "load-balancer-attributes", "scheme", "ip-address-type", "subnets", "security-groups",
		"manage-backend-security-group-rules", "minimum-load-balancer-capacity", "tags", "security-group-prefix-lists", "certificate-arn",
		"ssl-policy", "listener-attributes", "backend-protocol", "target-type", "target-node-labels", "target-group-attributes",
		"multi-cluster-target-group", "healthcheck-port", "healthcheck-protocol", "healthcheck-path", "healthcheck-interval-seconds",
		"healthcheck-timeout-seconds", "healthy-threshold-count", "unhealthy-threshold-count", "success-codes", "frontend-nlb-eip-allocations",
	} {
		field := naming.SettingField(model.Service, setting)
		if !slices.ContainsFunc(rows, func(r settings.Row) bool {
			key := r.Key
			if !strings.Contains(key, "/") {
				key = settings.ServicePrefix + key
			}
			return key == field || strings.HasPrefix(key, field+".<")
		}) {
			t.Errorf("setting %s has the annotation %s, which is not in the table", setting, field)
		}
	}
}

func TestFinalizersNameTheirStacks(t *testing.T) {
	for _, id := range []model.StackID{
		{Kind: model.Ingress, Namespace: "shop", Name: "web"}, {Kind: model.Ingress, Name: "team"},
		{Kind: model.Service, Namespace: "shop", Name: "web"}, naming.SharedStack("bank", "public"),
		{Kind: model.ALBGateway, Namespace: "shop", Name: "web"}, {Kind: model.NLBGateway, Namespace: "shop", Name: "web"},
	} {
		if got, ok := naming.StackOfFinalizer(naming.Finalizer(id), "shop", "web"); !ok || got != id {
			t.Errorf("the finalizer of %v is one of %v, %v", id, got, ok)
		}
	}
	if name, ok := naming.SharedName(naming.SharedStack("bank", "public")); !ok || name != "public" {
		t.Errorf("%q, %v", name, ok)
	}
	for name, valid := range map[string]bool{"public": true, "a-1": true, "": false, "-a": false, "A": false, "a.b": false, "a/b": false, strings.Repeat("x", 58): true, strings.Repeat("x", 59): false} {
		if fault := naming.SharedNameFault("bank", name); (fault == "") != valid {
			t.Errorf("%q: %s", name, fault)
		}
	}
	if got, ok := naming.StackOfFinalizer("elbv2.k8s.aws/resources", "shop", "web"); ok {
		t.Errorf("the finalizer of bindings is one of %v", got)
	}
}
