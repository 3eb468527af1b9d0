package elbv2

import "github.com/fulcrum-lb/fulcrum/internal/emulator/store"

// Error codes of several operations. Other codes are in the functions that return them.
const (
	codeValidation    = "ValidationError"
	codeConfiguration = "InvalidConfigurationRequest"
	codeAction        = "InvalidLoadBalancerAction"
	codeNotPermitted  = "OperationNotPermitted"
	codeInUse         = "ResourceInUse"
	codeTarget        = "InvalidTarget"
)

// fail returns an error of the service. from is the source that documents the text of AWS. The result has the type
// error, to avoid typed nil values.
func fail(from store.Source, code, format string, args ...any) error {
	return store.Errorf(from, code, format, args...)
}

func invalid(from store.Source, format string, args ...any) error {
	return fail(from, codeValidation, format, args...)
}

func misconfigured(from store.Source, format string, args ...any) error {
	return fail(from, codeConfiguration, format, args...)
}

func noLoadBalancer() error {
	return fail(store.Unproven, "LoadBalancerNotFound", "One or more load balancers not found")
}

func noTargetGroup() error {
	return fail(store.Quoted("aws-samples/service-screener-v2#212"), "TargetGroupNotFound", "One or more target groups not found")
}

func noListener() error {
	return fail(store.Quoted("awslabs/kubeflow-manifests#116"), "ListenerNotFound", "One or more listeners not found")
}

func noRule() error { return fail(store.Unproven, "RuleNotFound", "One or more rules not found") }

func noTrustStore() error {
	return fail(store.Unproven, "TrustStoreNotFound", "One or more trust stores not found")
}
