package status

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// place is where a finding on a route or a listener shows.
type place int

// The places.
const (
	onAccepted     place = iota // condition Accepted is False
	onResolvedRefs              // condition ResolvedRefs is False
	asAdvice                    // message of condition Accepted, which stays True
)

// conditionRow is the condition that a finding makes false, and the reason of the Gateway API for it.
type conditionRow struct {
	of     place
	reason string
}

// Rows of the table. What the Gateway API has no reason for keeps the reason of the finding.
var (
	unsupportedValue = conditionRow{onAccepted, string(gwv1.RouteReasonUnsupportedValue)}
	incompatible     = conditionRow{onAccepted, string(gwv1.RouteReasonIncompatibleFilters)}
	backendNotFound  = conditionRow{onResolvedRefs, string(gwv1.RouteReasonBackendNotFound)}
	notPermitted     = conditionRow{onResolvedRefs, string(gwv1.RouteReasonRefNotPermitted)}
	advice           = conditionRow{asAdvice, ""}
)

// conditionTable has for each reason of a finding on a route, or on a listener, the condition that shows it.
var conditionTable = map[finding.Reason]conditionRow{
	finding.BackendNotFound:          backendNotFound,
	finding.BackendPortNotFound:      backendNotFound,
	finding.TargetGroupNotFound:      backendNotFound,
	finding.BackendKindUnknown:       {onResolvedRefs, string(gwv1.RouteReasonInvalidKind)},
	finding.BackendUnsupported:       {onResolvedRefs, string(gwv1.RouteReasonInvalidKind)},
	finding.ReferenceNotPermitted:    notPermitted,
	finding.RouteNotAdmitted:         {onAccepted, string(gwv1.RouteReasonNotAllowedByListeners)},
	finding.TargetGroupNotOwned:      notPermitted,
	finding.TargetGroupShared:        notPermitted,
	finding.BackendTypeUnsupported:   unsupportedValue,
	finding.RouteValueUnsupported:    unsupportedValue,
	finding.RuleTooLarge:             unsupportedValue,
	finding.PathInvalid:              unsupportedValue,
	finding.Unsupported:              unsupportedValue,
	finding.FeatureDisabled:          unsupportedValue,
	finding.RejectedByAWS:            unsupportedValue,
	finding.ParametersInvalid:        unsupportedValue,
	finding.AnnotationInvalid:        unsupportedValue,
	finding.TagInvalid:               unsupportedValue,
	finding.TagReserved:              unsupportedValue,
	finding.RouteFiltersIncompatible: incompatible,
	finding.SecretNotFound:           incompatible,
	finding.SecretInvalid:            incompatible,
	finding.ActionNotFound:           incompatible,
	finding.CertificateInvalid:       unsupportedValue,
	finding.ImportsLimited:           advice,
	finding.ImportsDisabled:          advice,
	finding.CertificateNotOwned:      advice,
	finding.RouteFieldIgnored:        advice,
	finding.AllWeightsZero:           advice,
	finding.RuleUnreachable:          advice,
	finding.HeldRuleLeftOut:          advice,
	finding.TargetsConfiguredTwice:   advice,
	finding.WaitExpired:              advice,
	finding.WaitingForTargets:        advice,
	finding.WaitingToDelete:          advice,
	finding.CertificatePending:       advice,
	finding.SettingFixed:             advice,
	finding.MoreFindings:             advice,
}

// listenerReasons are the reasons of condition ResolvedRefs of a listener for findings on it.
var listenerReasons = map[finding.Reason]string{
	finding.ReferenceNotPermitted: string(gwv1.ListenerReasonRefNotPermitted),
	finding.SecretNotFound:        string(gwv1.ListenerReasonInvalidCertificateRef),
	finding.SecretInvalid:         string(gwv1.ListenerReasonInvalidCertificateRef),
	finding.CertificateInvalid:    string(gwv1.ListenerReasonInvalidCertificateRef),
	finding.HostNotOwned:          string(gwv1.ListenerReasonInvalidCertificateRef),
}

// conditionOf returns where a finding on a route or a listener shows. An error that has no row of its own keeps its
// reason: what AWS refuses or cannot do now is no fault of references.
func conditionOf(x finding.Finding) conditionRow {
	row, ok := conditionTable[x.Reason]
	switch {
	case x.Reason == finding.ParametersInvalid && x.Severity != finding.Error:
		return advice // such as a probable spelling mistake, which AWS judges
	case ok:
		return row
	case x.Severity != finding.Error:
		return advice
	}
	return conditionRow{onAccepted, string(x.Reason)}
}

// gatewayReason returns the reason of condition Accepted of a Gateway that a finding blocks.
func gatewayReason(reason finding.Reason) string {
	switch reason {
	case finding.ParametersInvalid, finding.AnnotationInvalid, finding.TagReserved, finding.TagInvalid:
		return string(gwv1.GatewayReasonInvalidParameters)
	}
	return string(gwv1.GatewayReasonInvalid)
}
