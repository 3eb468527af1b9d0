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

// newestVersion is the version of the Gateway API with which this controller was built.
var newestVersion = version.MustParseSemantic(consts.BundleVersion)

// supportedVersionCondition returns condition SupportedVersion. It is True if the Gateway API CRDs have a version from 1.0,
// the first version with kinds in v1, to newestVersion. With other versions, Gateways are still served as far as possible,
// as the Gateway API permits. versions has the version by CRD; nil if the versions are not known.
func supportedVersionCondition(versions map[string]string) metav1.Condition {
	out := metav1.Condition{
		Type: string(gwv1.GatewayClassConditionStatusSupportedVersion), Status: metav1.ConditionTrue,
		Reason: string(gwv1.GatewayClassReasonSupportedVersion), Message: "The installed version of the Gateway API CRDs is supported",
	}
	if versions == nil {
		out.Status, out.Reason = metav1.ConditionUnknown, string(gwv1.GatewayClassReasonPending)
		out.Message = "the controller may not read the CRDs of the Gateway API, so their version is not known; Gateways are served; apply config/rbac/gateway-versions.yaml"
		return out
	}
	for _, crd := range slices.Sorted(maps.Keys(versions)) {
		if isKnownVersion(versions[crd]) {
			continue
		}
		out.Status, out.Reason = metav1.ConditionFalse, string(gwv1.GatewayClassReasonUnsupportedVersion)
		out.Message = fmt.Sprintf("CRD %s has version %q of the Gateway API; Gateways are served as far as the controller supports this version; install a version from v1.0.0 to v%d.%d",
			crd, finding.TruncateValue(versions[crd]), newestVersion.Major(), newestVersion.Minor())
		break
	}
	return out
}

func isKnownVersion(text string) bool {
	v, err := version.ParseSemantic(text)
	return err == nil && v.Major() == newestVersion.Major() && v.Minor() <= newestVersion.Minor()
}
