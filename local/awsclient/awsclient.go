// Package awsclient points the AWS SDK at the emulator of a local world. It creates no
// clients of services.
package awsclient

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Credentials of the world's only account. AccessKey may do everything. The controller has
// ControllerKey, which the world limits to the policies of config/iam.
const (
	AccessKey     = "FULCRUMLOCAL"
	ControllerKey = "FULCRUMCONTROLLER"
	SecretKey     = "fulcrum-local"
)

// Config is what every SDK client of a world is made from.
func Config(endpoint, region string) aws.Config {
	return aws.Config{
		Region:       region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, ""),
		HTTPClient:   &http.Client{},
	}
}

// services are the ids of the services that the controller calls, in the flag --aws-api-endpoints.
var services = []string{
	"EC2", "Elastic Load Balancing v2", "ACM", "WAFV2", "WAF Regional", "Shield", "IAM",
	"Resource Groups Tagging API", "STS", "Route 53", "Global Accelerator",
}

// Endpoints is the flag of the controller by which it calls all services at a URL.
func Endpoints(url string) string {
	return "--aws-api-endpoints=" + strings.Join(services, "="+url+",") + "=" + url
}

// Environment does the same by the environment, which other users of the machine do not see. STS is left out, for programs
// that log in to a cluster of EKS ask it too, and what they get names its endpoint.
func Environment(url string) []string {
	var out []string
	for _, s := range services {
		if s != "STS" {
			out = append(out, "AWS_ENDPOINT_URL_"+strings.ToUpper(strings.ReplaceAll(s, " ", "_"))+"="+url)
		}
	}
	return out
}
