package world

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/awsclient"
)

// ControllerArgs returns the arguments with which a controller uses this local world: kubeconfig, cluster, region, VPC,
// endpoints and ports, without leader election.
func (w *World) ControllerArgs() []string {
	kubeconfig := w.filePath("controller.kubeconfig")
	if w.opts.AdminController {
		kubeconfig = w.kubeconfig
	}
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--cluster-name=" + w.layout.Cluster,
		"--aws-region=" + w.layout.Region,
		"--aws-vpc-id=" + w.layout.VPC,
		awsclient.EndpointsFlag(w.AWSEndpoint()),
		"--metrics-bind-addr=" + w.controlHostPort(portMetrics),
		"--health-probe-bind-addr=" + w.controlHostPort(portHealth),
		"--webhook-bind-port=" + strconv.Itoa(w.WebhookPort()),
		"--enable-leader-election=false",
	}
}

// WebhookPort returns the port on which the controller serves webhooks. The controller listens on all addresses of this
// machine, so each local world has its own port.
func (w *World) WebhookPort() int { return portWebhook + w.slot.number }

// controllerEnv returns the environment variables of a controller, with AWS credentials. Some of them prevent the SDK from
// using other credentials on this machine.
func (w *World) controllerEnv() []string {
	key := awsclient.ControllerKey
	if w.opts.AdminController {
		key = awsclient.AccessKey
	}
	return []string{
		"AWS_ACCESS_KEY_ID=" + key,
		"AWS_SECRET_ACCESS_KEY=" + awsclient.SecretKey,
		"AWS_SESSION_TOKEN=",
		"AWS_PROFILE=",
		"AWS_REGION=" + w.layout.Region,
		"AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=" + w.filePath("no-aws-config"),
		"AWS_SHARED_CREDENTIALS_FILE=" + w.filePath("no-aws-credentials"),
		// Tests may set GOGC for themselves; the controller runs with the default.
		"GOGC=",
	}
}

// StartController starts a controller with ControllerArgs, followed by args, which override them. It does not wait until the
// controller is ready; see AwaitControllerReady.
func (w *World) StartController(binary string, args ...string) error {
	if w.opts.WithoutAWS {
		return errors.New("world: a controller cannot run without AWS")
	}
	path, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	return w.startProcess(RoleController, path, append(w.ControllerArgs(), args...), w.controllerEnv())
}

// ControllerCommand returns a shell command that starts a controller as StartController does.
func (w *World) ControllerCommand(binary string, args ...string) string {
	words := []string{"env"}
	for _, e := range w.controllerEnv() {
		words = append(words, shellQuote(e))
	}
	lines := []string{strings.Join(words, " "), shellQuote(binary)}
	for _, a := range append(w.ControllerArgs(), args...) {
		lines = append(lines, shellQuote(a))
	}
	return strings.Join(lines, " \\\n  ")
}

// unquotedWord matches a word that needs no quotes in a shell.
var unquotedWord = regexp.MustCompile(`^[\w./:=,@%+-]+$`)

// shellQuote quotes a text as one word for a shell.
func shellQuote(s string) string {
	if unquotedWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// AwaitControllerReady waits until the controller's readiness endpoint returns success. It returns an error if the
// controller or ctx ends earlier.
func (w *World) AwaitControllerReady(ctx context.Context) error {
	return w.waitFor(ctx, "controller", httpOKCondition("http://"+w.controlHostPort(portHealth)+"/readyz"), RoleController)
}

// StopController sends SIGTERM to the controller and waits until the controller has ended. After 30 seconds it kills the
// controller.
func (w *World) StopController() error {
	p := w.process(RoleController)
	if p == nil || !p.IsAlive() {
		return errors.New("world: no controller is running")
	}
	p.Stop(30 * time.Second)
	return nil
}

// KillController kills the controller with SIGKILL, as in a crash.
func (w *World) KillController() error { return w.Kill(RoleController) }

// Environment returns environment variables, as NAME=value, with which kubectl, the AWS CLI, the AWS SDKs and the commands
// of Fulcrum use this local world. If the local world runs its own AWS, region and VPC are also in the instance metadata.
func (w *World) Environment() []string {
	out := []string{"KUBECONFIG=" + w.kubeconfig, "FULCRUM_CLUSTER_NAME=" + w.layout.Cluster}
	if w.opts.WithoutAWS {
		return out
	}
	// The instance metadata describes the cluster of the local world that runs AWS.
	metadata := "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + w.AWSEndpoint()
	if w.opts.AWSOfWorld != 0 {
		metadata = "AWS_EC2_METADATA_DISABLED=true"
	}
	return append(out,
		"AWS_ENDPOINT_URL="+w.AWSEndpoint(),
		metadata,
		// The AWS CLI reads AWS_DEFAULT_REGION, and the SDKs read AWS_REGION.
		"AWS_DEFAULT_REGION="+w.layout.Region,
		"AWS_REGION="+w.layout.Region,
		"AWS_ACCESS_KEY_ID="+awsclient.AccessKey,
		"AWS_SECRET_ACCESS_KEY="+awsclient.SecretKey,
	)
}

// ExportCommands returns shell commands that export the variables of Environment.
func (w *World) ExportCommands() string {
	var b strings.Builder
	for _, e := range w.Environment() {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&b, "export %s=%s\n", name, shellQuote(value))
	}
	return b.String()
}

// ControllerMetricsURL returns the URL of the controller's metrics.
func (w *World) ControllerMetricsURL() string {
	return fmt.Sprintf("http://%s/metrics", w.controlHostPort(portMetrics))
}
