package acceptance

import (
	"context"
	"fmt"
	"net/url"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
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
	smithy "github.com/aws/smithy-go/endpoints"
)

var regionPattern = regexp.MustCompile(`^[a-z]{2,5}(-[a-z]+)+-\d{1,2}$`)

// endpointURL returns the URL of an AWS service. service and region are those in the credential scope of a signature.
func endpointURL(ctx context.Context, service, region string) (*url.URL, error) {
	// The region comes from a signature, and is part of a host name.
	if !regionPattern.MatchString(region) {
		return nil, fmt.Errorf("%q is not an AWS region", region)
	}
	var at smithy.Endpoint
	var err error
	switch service {
	case "acm":
		at, err = acm.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, acm.EndpointParameters{Region: &region, ServiceType: aws.String("ACM")})
	case "ec2":
		at, err = ec2.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, ec2.EndpointParameters{Region: &region})
	case "elasticloadbalancing":
		at, err = elbv2.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, elbv2.EndpointParameters{Region: &region})
	case "globalaccelerator":
		at, err = globalaccelerator.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, globalaccelerator.EndpointParameters{Region: &region})
	case "iam":
		at, err = iam.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, iam.EndpointParameters{Region: &region})
	case "route53":
		at, err = route53.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, route53.EndpointParameters{Region: &region})
	case "shield":
		at, err = shield.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, shield.EndpointParameters{Region: &region})
	case "sts":
		at, err = sts.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, sts.EndpointParameters{Region: &region})
	case "tagging":
		at, err = resourcegroupstaggingapi.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, resourcegroupstaggingapi.EndpointParameters{Region: &region})
	case "waf-regional":
		at, err = wafregional.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, wafregional.EndpointParameters{Region: &region})
	case "wafv2":
		at, err = wafv2.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, wafv2.EndpointParameters{Region: &region})
	default:
		return nil, fmt.Errorf("unknown signing name of an AWS service: %q", service)
	}
	if err != nil {
		return nil, fmt.Errorf("find the endpoint of %s in %s: %w", service, region, err)
	}
	return &at.URI, nil
}
