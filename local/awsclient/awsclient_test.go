package awsclient_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/wafregional"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"github.com/fulcrum-lb/fulcrum/local/awsclient"
)

// TestEnvironmentSetsEndpointOfEachServiceExceptSTS checks that the SDK reads the variables that Environment
// returns.
func TestEnvironmentSetsEndpointOfEachServiceExceptSTS(t *testing.T) {
	const url = "http://127.0.0.1:1/path"
	t.Setenv("AWS_ENDPOINT_URL", "")
	for _, e := range awsclient.Environment(url) {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("eu-west-1"))
	if err != nil {
		t.Fatal(err)
	}
	for service, at := range map[string]*string{
		"ACM": acm.NewFromConfig(cfg).Options().BaseEndpoint, "EC2": ec2.NewFromConfig(cfg).Options().BaseEndpoint,
		"ELB": elbv2.NewFromConfig(cfg).Options().BaseEndpoint, "Global Accelerator": globalaccelerator.NewFromConfig(cfg).Options().BaseEndpoint,
		"IAM": iam.NewFromConfig(cfg).Options().BaseEndpoint, "tagging": resourcegroupstaggingapi.NewFromConfig(cfg).Options().BaseEndpoint,
		"Route 53": route53.NewFromConfig(cfg).Options().BaseEndpoint, "Shield": shield.NewFromConfig(cfg).Options().BaseEndpoint,
		"WAF Regional": wafregional.NewFromConfig(cfg).Options().BaseEndpoint, "WAFV2": wafv2.NewFromConfig(cfg).Options().BaseEndpoint,
	} {
		if at == nil || *at != url {
			t.Errorf("%s is called at %v", service, at)
		}
	}
	if at := sts.NewFromConfig(cfg).Options().BaseEndpoint; at != nil && *at != "" {
		t.Errorf("STS is called at %s", *at)
	}
}
