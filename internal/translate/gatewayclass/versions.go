package gatewayclass

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// newest is the version of the Gateway API that the controller is built with.
var newest = version.MustParseSemantic(consts.BundleVersion)

// supportedVersion returns the condition SupportedVersion: whether the CRDs of the Gateway API have a version from 1.0, the
// first one with kinds at v1, to the one that the controller is built with. With other versions, Gateways are served as well
// as possible, as the Gateway API permits.
func supportedVersion(versions map[string]string) metav1.Condition {
	out := metav1.Condition{
		Type: string(gwv1.GatewayClassConditionStatusSupportedVersion), Status: metav1.ConditionTrue,
		Reason: string(gwv1.GatewayClassReasonSupportedVersion), Message: "The installed version of the Gateway API CRDs is supported",
	}
	if versions == nil {
		out.Status, out.Reason = metav1.ConditionUnknown, string(gwv1.GatewayClassReasonPending)
		out.Message = "the controller may not read the CRDs of the Gateway API, so that their version is not known; Gateways are served; apply config/rbac/gateway-versions.yaml"
		return out
	}
	for _, crd := range slices.Sorted(maps.Keys(versions)) {
		if isKnownVersion(versions[crd]) {
			continue
		}
		out.Status, out.Reason = metav1.ConditionFalse, string(gwv1.GatewayClassReasonUnsupportedVersion)
		out.Message = fmt.Sprintf("CRD %s has version %q of the Gateway API; Gateways are served as far as the controller knows it; install a version from v1.0.0 to v%d.%d",
			crd, finding.Cut(versions[crd]), newest.Major(), newest.Minor())
		break
	}
	return out
}

func isKnownVersion(text string) bool {
	v, err := version.ParseSemantic(text)
	return err == nil && v.Major() == newest.Major() && v.Minor() <= newest.Minor()
}
