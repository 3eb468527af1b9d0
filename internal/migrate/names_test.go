package migrate

import "testing"

// TestNamesEqualThoseOfLBCMigrate checks that the names of generated objects do not change between versions, and that they
// are the same as those of lbc-migrate, the migration tool of the AWS Load Balancer Controller.
func TestNamesEqualThoseOfLBCMigrate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ namespace, base, suffix, want string }{
		{"garden", "rose-bed-front", gatewaySuffix, "rose-bed-gateway-bf51f3fe40"},
		{"garden", "rose-bed-front", configSuffix, "rose-bed-lb-confi-3dea076245"},
		{"garden", "rose-bed-front", routeSuffix, "rose-bed-route-ca9690ca42"},
		{"garden", "rose-bed-front", defaultRouteSuffix, "rose-bed-default-06217015e9"},
		{"garden", "rose-bed-front", redirectSuffix, "rose-bed-redirect-9f283baed9"},
		{"garden", "kiosk", targetsSuffix, "kiosk-tg-confi-073f4bc741"},
		{"garden", "rose-bed-front-kiosk", ruleConfigSuffix, "rose-bed-lr-confi-f5320d7b38"},
		{"garden", "kiosk", routeSuffix, "kiosk-route-e1ef32d2e2"},
		{"", "tulips", groupGatewaySuffix, "tulips-grp-gw-de70655ad6"},
		{"", "tulips", groupConfigSuffix, "tulips-grp-lb-8e46a4f0c1"},
		{"garden", "tulips", redirectSuffix, "tulips-redirect-8ef3434c3e"},
		{"a", "b", gatewaySuffix, "b-gateway-19bbe27dd5"},
		{"garden", "seven-7-eight", gatewaySuffix, "seven-7-gateway-e15ac4270c"},
		{"garden", "tools.v2-main", gatewaySuffix, "tools.v2-gateway-40d797d54a"},
		{"plant-shop", "storefront", gatewaySuffix, "storefro-gateway-5a93aa1162"},
		{"plant-shop", "cart", targetsSuffix, "cart-tg-confi-417203442e"},
	} {
		if got := objectName(tt.namespace, tt.base, tt.suffix); got != tt.want {
			t.Errorf("name of %s %s %s: got %s, want %s", tt.namespace, tt.base, tt.suffix, got, tt.want)
		}
	}
	if got := objectName("garden", "foo.bar.baz", gatewaySuffix); got[:16] != "foo.bar-gateway-" {
		t.Errorf("a name with a dot at the cut: %s", got)
	}
}
