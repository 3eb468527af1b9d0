package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

// flagsPage returns the page of flags, feature gates and environment variables.
func flagsPage() string {
	var b strings.Builder
	b.WriteString(generatedNotice)
	b.WriteString(`# Flags

After reading this page you can look up every flag of the controller, every feature gate, and the environment variables that the controller reads. The flags of aws-load-balancer-controller v3.5.0 have the same names and defaults, so you can use its Deployment with another image.

` + "`plan`, `tree`, `explain`, `doctor` and `orphans`" + ` take the same flags, because the flags determine what the controller does. The controller does not start with an unknown flag or a value that is not permitted; a message names the flag and the permitted values.

The items of a list are separated by commas, and its flag may be repeated. A map is ` + "`key=value,key=value`" + `. A duration is a number with a unit, such as ` + "`90s`, `15m` or `10h`" + `.

| Flag | Type | Default | Meaning |
|---|---|---|---|
`)
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	c := config.Default()
	c.AddFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		usage := f.Usage
		if f.Name == config.GatesFlag {
			usage = "feature gates, as listed [below](#feature-gates)"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", f.Name, flagType(f), inlineCode(strings.Trim(f.DefValue, "[]")), escapeCell(usage))
	})
	b.WriteString(`
## Feature gates

` + "`--feature-gates=Name=true,Name=false`" + `. If ALBGatewayAPI, NLBGatewayAPI or GatewayListenerSet is set to true and its CustomResourceDefinitions are not installed, the controller does not start.

| Gate | Default | Meaning |
|---|---|---|
`)
	for _, g := range config.GateRows() {
		fmt.Fprintf(&b, "| `%s` | %t | %s |\n", g.Name, g.OnByDefault, escapeCell(g.Effect))
	}
	b.WriteString(`
## Environment variables

| Variable | Meaning |
|---|---|
| ` + "`AWS_DEFAULT_REGION`, then `AWS_REGION`" + ` | the region, if ` + "`--aws-region`" + ` is empty |
| ` + "`AWS_ROLE_ARN` with `AWS_WEB_IDENTITY_TOKEN_FILE`" + ` | the role of the service account (IRSA) |
| ` + "`AWS_CONTAINER_CREDENTIALS_FULL_URI` with `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`" + ` | EKS Pod Identity |
| ` + "`AWS_ENDPOINT_URL`, `AWS_ENDPOINT_URL_SERVICE`" + ` | custom AWS endpoints; ` + "`--aws-api-endpoints`" + ` takes precedence |
| all others that AWS SDKs read | credentials, proxies, CA bundles, FIPS and dual-stack endpoints |
| ` + "`NODENAME`" + ` | name of the node; if it is an instance ID, the VPC of that instance is used when neither flags nor the instance metadata have the VPC |
| ` + "`KUBERNETES_SERVICE_HOST`, `KUBERNETES_SERVICE_PORT`" + ` | address of the API server, inside a cluster |
| ` + "`TMPDIR`" + ` | parent of the default of ` + "`--webhook-cert-dir`" + ` |
| ` + "`KUBECONFIG`" + ` | path of the kubeconfig, also in a pod, if ` + "`--kubeconfig`" + ` is empty |
`)
	return b.String()
}

// flagType returns the type of a flag, as the page names it.
func flagType(f *pflag.Flag) string {
	switch t := f.Value.Type(); t {
	case "stringSlice":
		return "list"
	case "stringToString", "mapStringBool":
		return "map"
	default:
		return t
	}
}

// inlineCode returns a value as inline code, or "" if it is empty.
func inlineCode(s string) string {
	if s == "" {
		return ""
	}
	return "`" + escapeCell(s) + "`"
}
