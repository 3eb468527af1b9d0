// Package awsclient configures the AWS SDK for the emulator of a local world. It only has configurations; callers
// create the clients of services.
package awsclient

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Credentials of the only account of a local world. AccessKey has all permissions. The controller uses ControllerKey,
// which has the permissions of the policies in config/iam.
const (
	AccessKey     = "FULCRUMLOCAL"
	ControllerKey = "FULCRUMCONTROLLER"
	SecretKey     = "fulcrum-local"
)

// Config returns the configuration for all SDK clients of a local world.
func Config(endpoint, region string) aws.Config {
	return aws.Config{
		Region:       region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, ""),
		HTTPClient:   &http.Client{},
	}
}

// serviceIDs are the IDs of the services that the controller calls, as in the flag --aws-api-endpoints.
var serviceIDs = []string{
	"EC2", "Elastic Load Balancing v2", "ACM", "WAFV2", "WAF Regional", "Shield", "IAM",
	"Resource Groups Tagging API", "STS", "Route 53", "Global Accelerator",
}

// EndpointsFlag returns the flag --aws-api-endpoints of the controller, with url as the endpoint of all services.
func EndpointsFlag(url string) string {
	return "--aws-api-endpoints=" + strings.Join(serviceIDs, "="+url+",") + "=" + url
}

// Environment returns environment variables that set the URL of all services except STS. Other users of the machine cannot
// read environment variables, but can read flags. The endpoint of STS does not change, because programs that log in to an
// EKS cluster sign a URL of STS.
func Environment(url string) []string {
	var out []string
	for _, s := range serviceIDs {
		if s != "STS" {
			out = append(out, "AWS_ENDPOINT_URL_"+strings.ToUpper(strings.ReplaceAll(s, " ", "_"))+"="+url)
		}
	}
	return out
}
