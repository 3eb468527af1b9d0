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

// ControllerArgs are the arguments of a controller in this local world: cluster,
// account, endpoints, ports of its own.
func (w *World) ControllerArgs() []string {
	kubeconfig := w.file("controller.kubeconfig")
	if w.opts.AdminController {
		kubeconfig = w.kubeconfig
	}
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--cluster-name=" + w.layout.Cluster,
		"--aws-region=" + w.layout.Region,
		"--aws-vpc-id=" + w.layout.VPC,
		awsclient.Endpoints(w.AWSEndpoint()),
		"--metrics-bind-addr=" + w.at(portMetrics),
		"--health-probe-bind-addr=" + w.at(portHealth),
		"--webhook-bind-port=" + strconv.Itoa(w.WebhookPort()),
		"--enable-leader-election=false",
	}
}

// WebhookPort is where the controller serves webhooks, on all addresses: the port distinguishes local worlds.
func (w *World) WebhookPort() int { return portWebhook + w.slot.n }

// controllerEnv gives AWS credentials and keeps the SDK from looking for any
// in the surroundings.
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
		"AWS_CONFIG_FILE=" + w.file("no-aws-config"),
		"AWS_SHARED_CREDENTIALS_FILE=" + w.file("no-aws-credentials"),
		// Tests collect garbage more rarely than a controller does.
		"GOGC=",
	}
}

// StartController starts a controller with ControllerArgs and then args, which
// win where both set a flag. It returns once the process lives; readiness is
// for the caller to ask, with ControllerReady.
func (w *World) StartController(binary string, args ...string) error {
	if w.opts.WithoutAWS {
		return errors.New("world: no controller without AWS")
	}
	path, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	return w.run(RoleController, path, append(w.ControllerArgs(), args...), w.controllerEnv())
}

// ControllerCommand is a shell command that starts a controller as
// StartController does.
func (w *World) ControllerCommand(binary string, args ...string) string {
	words := []string{"env"}
	for _, e := range w.controllerEnv() {
		words = append(words, quote(e))
	}
	lines := []string{strings.Join(words, " "), quote(binary)}
	for _, a := range append(w.ControllerArgs(), args...) {
		lines = append(lines, quote(a))
	}
	return strings.Join(lines, " \\\n  ")
}

// plainWord is what a shell takes as it is written.
var plainWord = regexp.MustCompile(`^[\w./:=,@%+-]+$`)

// quote makes one word of a text for a shell.
func quote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ControllerReady waits until the controller's readiness endpoint answers with success.
func (w *World) ControllerReady(ctx context.Context) error {
	return w.await(ctx, "controller", httpOK("http://"+w.at(portHealth)+"/readyz"), RoleController)
}

// StopController asks the controller to end and waits for it, half a minute at
// most.
func (w *World) StopController() error {
	p := w.process(RoleController)
	if p == nil || !p.Alive() {
		return errors.New("world: no controller is running")
	}
	p.Stop(30 * time.Second)
	return nil
}

// KillController ends the controller as a crash would.
func (w *World) KillController() error { return w.Kill(RoleController) }

// Environment is what the AWS command line, the AWS SDKs and the commands of Fulcrum
// need in their environment to find this local world, as NAME=value. Region and VPC are
// in the instance metadata too, as on a node, but not in a world that uses the AWS of another.
func (w *World) Environment() []string {
	out := []string{"KUBECONFIG=" + w.kubeconfig, "FULCRUM_CLUSTER_NAME=" + w.layout.Cluster}
	if w.opts.WithoutAWS {
		return out
	}
	// The metadata are those of an instance of the cluster that AWS was started for.
	metadata := "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + w.AWSEndpoint()
	if w.opts.Beside != 0 {
		metadata = "AWS_EC2_METADATA_DISABLED=true"
	}
	return append(out,
		"AWS_ENDPOINT_URL="+w.AWSEndpoint(),
		metadata,
		// The AWS command line reads the first, the SDKs read the second.
		"AWS_DEFAULT_REGION="+w.layout.Region,
		"AWS_REGION="+w.layout.Region,
		"AWS_ACCESS_KEY_ID="+awsclient.AccessKey,
		"AWS_SECRET_ACCESS_KEY="+awsclient.SecretKey,
	)
}

// Exports are shell commands that set Environment.
func (w *World) Exports() string {
	var b strings.Builder
	for _, e := range w.Environment() {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&b, "export %s=%s\n", name, quote(value))
	}
	return b.String()
}

// ControllerMetrics is the URL of the controller's metrics.
func (w *World) ControllerMetrics() string {
	return fmt.Sprintf("http://%s/metrics", w.at(portMetrics))
}
