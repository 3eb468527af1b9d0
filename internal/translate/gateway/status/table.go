package status

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// conditionEffect is the effect of a finding on the conditions of a route or a listener.
type conditionEffect int

// The values of conditionEffect.
const (
	setsAcceptedFalse     conditionEffect = iota // sets condition Accepted to False
	setsResolvedRefsFalse                        // sets condition ResolvedRefs to False
	addsAdvice                                   // sets the message of condition Accepted, which stays True
)

// conditionChange is the effect of a finding on conditions, and the reason that the changed condition gets.
type conditionChange struct {
	effect conditionEffect
	reason string
}

// Rows that conditionTable uses several times.
var (
	unsupportedValue = conditionChange{setsAcceptedFalse, string(gwv1.RouteReasonUnsupportedValue)}
	incompatible     = conditionChange{setsAcceptedFalse, string(gwv1.RouteReasonIncompatibleFilters)}
	backendNotFound  = conditionChange{setsResolvedRefsFalse, string(gwv1.RouteReasonBackendNotFound)}
	notPermitted     = conditionChange{setsResolvedRefsFalse, string(gwv1.RouteReasonRefNotPermitted)}
	advice           = conditionChange{addsAdvice, ""}
)

// conditionTable has the row for each reason of a finding about a route.
var conditionTable = map[finding.Reason]conditionChange{
	finding.BackendNotFound:          backendNotFound,
	finding.BackendPortNotFound:      backendNotFound,
	finding.TargetGroupNotFound:      backendNotFound,
	finding.BackendKindUnknown:       {setsResolvedRefsFalse, string(gwv1.RouteReasonInvalidKind)},
	finding.BackendUnsupported:       {setsResolvedRefsFalse, string(gwv1.RouteReasonInvalidKind)},
	finding.ReferenceNotPermitted:    notPermitted,
	finding.RouteNotAdmitted:         {setsAcceptedFalse, string(gwv1.RouteReasonNotAllowedByListeners)},
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
	finding.CertificateInUse:         advice,
	finding.SettingFixed:             advice,
	finding.MoreFindings:             advice,
}

// listenerReasons has the reasons of condition ResolvedRefs of a listener, by the reasons of findings about the listener.
var listenerReasons = map[finding.Reason]string{
	finding.ReferenceNotPermitted: string(gwv1.ListenerReasonRefNotPermitted),
	finding.SecretNotFound:        string(gwv1.ListenerReasonInvalidCertificateRef),
	finding.SecretInvalid:         string(gwv1.ListenerReasonInvalidCertificateRef),
	finding.CertificateInvalid:    string(gwv1.ListenerReasonInvalidCertificateRef),
	finding.HostNotOwned:          string(gwv1.ListenerReasonInvalidCertificateRef),
}

// conditionChangeFor returns the effect of a finding on the conditions of a route. An error that is not in the
// table, for example because AWS refused a change, sets Accepted to False with the reason of the finding.
func conditionChangeFor(x finding.Finding) conditionChange {
	row, ok := conditionTable[x.Reason]
	switch {
	case x.Reason == finding.ParametersInvalid && x.Severity != finding.Error:
		return advice // such as a probable spelling mistake
	case ok:
		return row
	case x.Severity != finding.Error:
		return advice
	}
	return conditionChange{setsAcceptedFalse, string(x.Reason)}
}

// gatewayAcceptedReason returns the reason of condition Accepted of a Gateway for a finding that blocks the Gateway.
func gatewayAcceptedReason(reason finding.Reason) string {
	switch reason {
	case finding.ParametersInvalid, finding.AnnotationInvalid, finding.TagReserved, finding.TagInvalid:
		return string(gwv1.GatewayReasonInvalidParameters)
	}
	return string(gwv1.GatewayReasonInvalid)
}
