package elbv2

import "github.com/fulcrum-lb/fulcrum/internal/emulator/world"

// Codes that many operations share. The rest stand where they are raised.
const (
	codeValidation    = "ValidationError"
	codeConfiguration = "InvalidConfigurationRequest"
	codeAction        = "InvalidLoadBalancerAction"
	codeNotPermitted  = "OperationNotPermitted"
	codeInUse         = "ResourceInUse"
	codeTarget        = "InvalidTarget"
)

// fail makes a refusal. It returns the error interface, so that no typed nil
// can slip through.
func fail(code, format string, args ...any) error {
	return world.Errorf(code, format, args...)
}

func invalid(format string, args ...any) error { return fail(codeValidation, format, args...) }

func misconfigured(format string, args ...any) error { return fail(codeConfiguration, format, args...) }

func noLoadBalancer() error {
	return fail("LoadBalancerNotFound", "One or more load balancers not found")
}

func noTargetGroup() error { return fail("TargetGroupNotFound", "One or more target groups not found") }

func noListener() error { return fail("ListenerNotFound", "One or more listeners not found") }

func noRule() error { return fail("RuleNotFound", "One or more rules not found") }

func noTrustStore() error { return fail("TrustStoreNotFound", "One or more trust stores not found") }
