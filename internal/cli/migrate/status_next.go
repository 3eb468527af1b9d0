package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// commandLines makes the command lines for the next steps of a user. They have the flags of this run that select the cluster
// and the region.
type commandLines struct {
	program string
	// kubectlFlags and fulcrumFlags are appended to the command lines of kubectl and of this program.
	kubectlFlags, fulcrumFlags []string
}

// newCommandLines copies the flags of cmd that select the cluster and the region.
func newCommandLines(cmd *cobra.Command) commandLines {
	out := commandLines{program: cmd.Root().CommandPath()}
	for _, name := range []string{"kubeconfig", "context", "cluster-name", "aws-region", "aws-vpc-id", "flags-from"} {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		flag := "--" + name + "=" + f.Value.String()
		out.fulcrumFlags = append(out.fulcrumFlags, flag)
		if name == "kubeconfig" || name == "context" {
			out.kubectlFlags = append(out.kubectlFlags, flag)
		}
	}
	return out
}

// setNextSteps sets Next, Command and Back of out according to its state.
func (c commandLines) setNextSteps(out *Status, m move) {
	gateway := "gateway/" + m.toStack.Name
	plan := c.fulcrumLine("plan", gateway, "-n", m.toStack.Namespace)
	annotate := func(annotation string) string {
		return c.kubectlLine("annotate", "gateway", m.toStack.Name, "-n", m.toStack.Namespace, "--overwrite", annotation)
	}
	giveBack := annotate(naming.DryRunAnnotation + "=true")
	switch out.State {
	case handover.StateNotRequested:
		if m.fromStack.Kind == model.Service {
			out.Next, out.Command = "the Gateway has no load balancer: it is being deleted, or it is not served; correct the Gateway", plan
			break
		}
		out.Next, out.Command = "translate the Ingresses, and apply the manifests; until the dry-run annotation is removed, the controller changes nothing in AWS for the Gateway", c.translateCommand(m.fromStack, !out.cannotBeTakenOver)
	case handover.StateShadow:
		out.Next, out.Command = "there is no obstacle: remove the dry-run annotation, so that the Gateway takes over the load balancer", annotate(naming.DryRunAnnotation+"-")
		if len(out.Obstacles) > 0 {
			out.Next, out.Command = "remove the obstacles; nothing is changed until then", c.inspectCommand(out, m, plan)
		}
	case handover.StateRefused:
		out.Next, out.Command = "remove the obstacles; nothing is changed until then", c.inspectCommand(out, m, plan)
	case handover.StateAdopting:
		out.Next, out.Command, out.Back = "wait until the controller has carried out the plan; the events of the Gateway show why it waits", plan, giveBack
	case handover.StateAdopted:
		out.Next, out.Command, out.Back = "make DNS controllers and accelerators refer to the Gateway, then delete the Ingresses", c.releaseCommand(out), giveBack
		if m.fromStack.Kind == model.Service {
			out.Next = "make DNS controllers and accelerators refer to the Gateway, then take the Services out of management; routes need them as backends"
		}
		switch {
		case len(out.Notes) > 0:
			out.Next, out.Command = "correct the problems in the notes before you delete anything", plan
		case out.Steps > 0:
			out.Next, out.Command = "wait until the controller has carried out the rest of the plan before you delete anything", plan
		}
	case handover.StateGivingBack:
		out.Next, out.Command = "wait until the load balancer is given back; the events of the objects show why it waits", plan
		if len(out.Members) > 0 {
			member := out.Members[0]
			out.Command = c.fulcrumLine("plan", strings.ToLower(member.Kind)+"/"+member.Name, "-n", member.Namespace) // the plan of the member has the steps
		}
	case handover.StateReleased:
		out.Next, out.Command = "remove the annotation: there is no load balancer to give back", annotate(naming.AdoptAnnotation+"-")
	case handover.StateIndeterminate:
		out.Next, out.Command = "see the reason", c.fulcrumLine("doctor")
	}
	if out.cannotGiveBack {
		out.Back = ""
	}
}

// inspectCommand returns the command that shows details of the obstacles. plan is the command that shows the plan of the
// Gateway.
func (c commandLines) inspectCommand(out *Status, m move, plan string) string {
	differs := slices.ContainsFunc(out.Obstacles, func(f output.Finding) bool { return f.Reason == finding.AdoptionDiffers })
	if m.fromStack.Kind == model.Ingress && differs {
		return c.translateCommand(m.fromStack, true) + " --check"
	}
	return plan
}

// translateCommand returns the command line of "fulcrum migrate" for the Ingresses of a stack. inPlace adds --in-place.
func (c commandLines) translateCommand(from model.StackID, inPlace bool) string {
	args := []string{"migrate", "--from-cluster"}
	if inPlace {
		args = append(args, "--in-place")
	}
	if from.Namespace == "" {
		return c.fulcrumLine(append(args, "--group="+from.Name)...)
	}
	return c.fulcrumLine(append(args, "--namespaces="+from.Namespace, "--ingress-name="+from.Name)...)
}

// nextStepAfterWrite returns the next step for the user after manifests were written to the directory dir.
func (c commandLines) nextStepAfterWrite(dir string, inPlace bool) string {
	out := "next: read them, then " + c.kubectlLine("apply", "-R", "-f", dir)
	if inPlace {
		out += "; " + c.fulcrumLine("migrate", "status") + " shows what follows"
	}
	return out
}

// releaseCommand returns the commands after which this controller no longer manages the members. The commands delete
// Ingresses. Services remain as backends: the commands only remove the annotation and the class that select this controller.
func (c commandLines) releaseCommand(out *Status) string {
	var lines []string
	names := map[string][]string{}
	for _, m := range out.Members {
		if m.Kind != cluster.KindService {
			names[m.Namespace] = append(names[m.Namespace], m.Name)
			continue
		}
		lines = append(lines, c.kubectlLine("annotate", "service", m.Name, "-n", m.Namespace, settings.ServicePrefix+"aws-load-balancer-type-"),
			c.kubectlLine("patch", "service", m.Name, "-n", m.Namespace, "-p", `{"spec":{"type":"NodePort","loadBalancerClass":null}}`))
	}
	for _, m := range out.Members {
		if ingresses := names[m.Namespace]; len(ingresses) > 0 {
			lines = append(lines, c.kubectlLine(append([]string{"delete", "ingress", "-n", m.Namespace}, ingresses...)...))
			delete(names, m.Namespace)
		}
	}
	return strings.Join(lines, " && ")
}

// kubectlLine returns a command line of kubectl.
func (c commandLines) kubectlLine(args ...string) string {
	return commandLine("kubectl", append(args, c.kubectlFlags...))
}

// fulcrumLine returns a command line of this program.
func (c commandLines) fulcrumLine(args ...string) string {
	return commandLine(c.program, append(args, c.fulcrumFlags...))
}

// commandLine returns a command line, quoted for a shell and without control characters.
func commandLine(program string, args []string) string {
	var out strings.Builder
	out.WriteString(program)
	for _, a := range args {
		fmt.Fprintf(&out, " %s", output.ShellQuote(a))
	}
	return finding.EscapeNonPrintable(out.String())
}
