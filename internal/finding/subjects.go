package finding

import "slices"

// Subject is a heading under which the documentation lists several reasons.
type Subject struct {
	Name    string
	Reasons []Reason
}

// Subjects has all subjects, in the order of the documentation. Each Reason belongs to exactly one subject.
var Subjects = []Subject{
	{"Classes and who may use them", []Reason{
		IngressClassInvalid, NamespaceNotAllowed, GatewayClassInvalid, HostNotOwned, ReferenceNotPermitted, RouteNotAdmitted, SettingOfClass, NotServed,
		FeatureDisabled, Unsupported,
	}},
	{"Annotations, parameters and tags", []Reason{
		AnnotationInvalid, AnnotationConflict, GroupNameInvalid, GroupOrderInvalid, ParametersInvalid, SettingFixed, TagInvalid, TagReserved,
	}},
	{"Backends and target groups", []Reason{
		BackendNotFound, BackendPortNotFound, BackendTypeUnsupported, BackendUnsupported, BackendKindUnknown, ActionNotFound,
		TargetGroupNotFound, TargetGroupNotOwned, TargetGroupShared, TargetGroupDiffers, TargetsConfiguredTwice, AllWeightsZero,
	}},
	{"Targets: pods and nodes", []Reason{
		ServiceWithoutEndpoints, SelectorMatchesNoPod, TargetPortNotFound,
		EndpointIgnored, EndpointMissing, NodeUnusable, ServerIDMissing, TargetsCapped, EndpointGroupUnclear, NetworkingInvalid,
	}},
	{"Rules and routes", []Reason{
		PathInvalid, RuleTooLarge, RuleUnreachable, HeldRuleLeftOut, RedirectPortInvalid, RouteValueUnsupported, RouteFieldIgnored,
		RouteFiltersIncompatible, GatewayFieldIgnored, IngressTooLarge, GatewayTooLarge, ServiceTooLarge,
	}},
	{"Listeners, TLS and certificates", []Reason{
		ListenerConflict, TLSNotServed, CertificateMissing, CertificateNotFound, CertificateInvalid, CertificateNotOwned, CertificatePending,
		CertificateInUse, HostedZoneNotFound, SecretNotFound, SecretInvalid, ImportsDisabled, ImportsLimited, TrustStoreNotFound,
	}},
	{"Load balancers, subnets and security groups", []Reason{
		SubnetsNotFound, SubnetsUnsuitable, SecurityGroupNotFound, RulesRevoked, NameTaken, LoadBalancerDoubled, WebACLNotFound,
	}},
	{"Changes that replace, move or delete", []Reason{
		SchemeKept, LoadBalancerReplaced, LoadBalancerMoved, LoadBalancerAdopted, LoadBalancerReturned, AdoptionReady, AdoptionRefused, AdoptionDiffers, ReplacedWithGap, ReplacementHeld, DeletionProtected, RemovalNotTrusted,
		WaitingForTargets, WaitingToDelete, WaitExpired,
	}},
	{"Accelerators and their endpoints", []Reason{
		SpecInvalid, PortOverrideInvalid, EndpointNotFound, EndpointNotReady, EndpointElsewhere, EndpointDoubled, ClientIPUnsupported,
		AcceleratorNotOwned, AcceleratorRecreated, AcceleratorSettingKept, AcceleratorNotShared, SharedListenerNotFound, HeldForGuest,
	}},
	{"AWS errors and changes by other clients", []Reason{
		AccessDenied, RejectedByAWS, QuotaReached, ServiceUnavailable, CallFailed, DriftFound, DriftRepaired, ChangeNotKept, ChangedTooOften, WriteUndone,
	}},
	{"Limits of reports", []Reason{MoreFindings, PlanTooLarge}},
}

// SubjectOf returns the name of the subject to which a reason belongs; "" for an unknown reason.
func SubjectOf(reason Reason) string {
	for _, s := range Subjects {
		if slices.Contains(s.Reasons, reason) {
			return s.Name
		}
	}
	return ""
}
