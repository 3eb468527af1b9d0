package elbv2

import "github.com/fulcrum-lb/fulcrum/internal/emulator/store"

// Error codes that several operations return. Other codes are in the functions that return them.
const (
	codeValidation    = "ValidationError"
	codeConfiguration = "InvalidConfigurationRequest"
	codeAction        = "InvalidLoadBalancerAction"
	codeNotPermitted  = "OperationNotPermitted"
	codeInUse         = "ResourceInUse"
	codeTarget        = "InvalidTarget"
)

func validationError(from store.Source, format string, args ...any) error {
	return store.Errorf(from, codeValidation, format, args...)
}

func configurationError(from store.Source, format string, args ...any) error {
	return store.Errorf(from, codeConfiguration, format, args...)
}

func loadBalancerNotFoundError() error {
	return store.Errorf(store.UnprovenSource, "LoadBalancerNotFound", "One or more load balancers not found")
}

func targetGroupNotFoundError() error {
	return store.Errorf(store.ReportSource("aws-samples/service-screener-v2#212"), "TargetGroupNotFound", "One or more target groups not found")
}

func listenerNotFoundError() error {
	return store.Errorf(store.ReportSource("awslabs/kubeflow-manifests#116"), "ListenerNotFound", "One or more listeners not found")
}

func ruleNotFoundError() error {
	return store.Errorf(store.UnprovenSource, "RuleNotFound", "One or more rules not found")
}

func trustStoreNotFoundError() error {
	return store.Errorf(store.UnprovenSource, "TrustStoreNotFound", "One or more trust stores not found")
}
