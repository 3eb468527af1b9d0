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

// steps are the commands that follow. They are about the cluster and the region that were looked at.
type steps struct {
	program string
	// kubectl and fulcrum are the flags that both programs need.
	kubectl, fulcrum []string
}

// stepsOf copies the flags that select the cluster and the region.
func stepsOf(cmd *cobra.Command) steps {
	out := steps{program: cmd.Root().CommandPath()}
	for _, name := range []string{"kubeconfig", "context", "cluster-name", "aws-region", "aws-vpc-id", "flags-from"} {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		given := "--" + name + "=" + f.Value.String()
		out.fulcrum = append(out.fulcrum, given)
		if name == "kubeconfig" || name == "context" {
			out.kubectl = append(out.kubectl, given)
		}
	}
	return out
}

// setNextSteps sets what is to be done, and the commands for it.
func (s steps) setNextSteps(out *Status, m move) {
	gateway := "gateway/" + m.by.Name
	plan := s.fulcrumLine("plan", gateway, "-n", m.by.Namespace)
	annotate := func(annotation string) string {
		return s.kubectlLine("annotate", "gateway", m.by.Name, "-n", m.by.Namespace, "--overwrite", annotation)
	}
	back := annotate(naming.DryRunAnnotation + "=true")
	switch out.State {
	case handover.InIngress:
		out.Next, out.Command = "translate it, and apply the manifests: the Gateway is only planned at first", s.translate(m.from, !out.beside)
	case handover.Shadow:
		out.Next, out.Command = "nothing is in the way: let the Gateway take the load balancer over", annotate(naming.DryRunAnnotation+"-")
		if len(out.Obstacles) > 0 {
			out.Next, out.Command = "correct what is in the way; nothing is changed until then", s.look(out, m, plan)
		}
	case handover.Refused:
		out.Next, out.Command = "correct what is in the way; nothing is changed until then", s.look(out, m, plan)
	case handover.Adopting:
		out.Next, out.Command, out.Back = "wait until the controller has carried out the plan; what keeps it is in the events of the Gateway", plan, back
	case handover.Adopted:
		out.Next, out.Command, out.Back = "let DNS controllers and accelerators name the Gateway, then delete the Ingresses", s.release(out), back
		if m.from.Kind == model.Service {
			out.Next = "let DNS controllers and accelerators name the Gateway, then take the Services out of management; routes need them as backends"
		}
		switch {
		case len(out.Notes) > 0:
			out.Next, out.Command = "correct what the notes name, before anything is deleted", plan
		case out.Steps > 0:
			out.Next, out.Command = "wait until the controller has carried out the rest of the plan, before anything is deleted", plan
		}
	case handover.GivingBack:
		out.Next, out.Command = "wait until the load balancer is given back; what keeps it is in the events of the objects", plan
		if len(out.Members) > 0 {
			of := out.Members[0]
			out.Command = s.fulcrumLine("plan", strings.ToLower(of.Kind)+"/"+of.Name, "-n", of.Namespace) // the steps are theirs
		}
	case handover.Released:
		out.Next, out.Command = "remove the annotation: nothing is left to be given back", annotate(naming.AdoptAnnotation+"-")
	case handover.Indeterminate:
		out.Next, out.Command = "see the reason", s.fulcrumLine("doctor")
	}
	if out.kept {
		out.Back = ""
	}
}

// look shows more of what is in the way.
func (s steps) look(out *Status, m move, plan string) string {
	differs := slices.ContainsFunc(out.Obstacles, func(f output.Finding) bool { return f.Reason == finding.AdoptionDiffers })
	if m.from.Kind == model.Ingress && differs {
		return s.translate(m.from, true) + " --check"
	}
	return plan
}

// translate returns the command that translates a load balancer.
func (s steps) translate(from model.StackID, inPlace bool) string {
	args := []string{"migrate", "--from-cluster"}
	if inPlace {
		args = append(args, "--in-place")
	}
	if from.Namespace == "" {
		return s.fulcrumLine(append(args, "--group="+from.Name)...)
	}
	return s.fulcrumLine(append(args, "--namespaces="+from.Namespace, "--ingress-name="+from.Name)...)
}

// afterWrite returns what follows when manifests were written to a directory.
func (s steps) afterWrite(dir string, inPlace bool) string {
	out := "next: read them, then " + s.kubectlLine("apply", "-R", "-f", dir)
	if inPlace {
		out += "; " + s.fulcrumLine("migrate", "status") + " shows what follows"
	}
	return out
}

// release returns the commands by which objects stop to ask for the load balancer: Ingresses are deleted, and Services
// are needed as backends.
func (s steps) release(out *Status) string {
	var all []string
	names := map[string][]string{}
	for _, m := range out.Members {
		if m.Kind != string(cluster.KindService) {
			names[m.Namespace] = append(names[m.Namespace], m.Name)
			continue
		}
		all = append(all, s.kubectlLine("annotate", "service", m.Name, "-n", m.Namespace, settings.ServicePrefix+"aws-load-balancer-type-"),
			s.kubectlLine("patch", "service", m.Name, "-n", m.Namespace, "-p", `{"spec":{"type":"NodePort","loadBalancerClass":null}}`))
	}
	for _, m := range out.Members {
		if in := names[m.Namespace]; len(in) > 0 {
			all = append(all, s.kubectlLine(append([]string{"delete", "ingress", "-n", m.Namespace}, in...)...))
			delete(names, m.Namespace)
		}
	}
	return strings.Join(all, " && ")
}

func (s steps) kubectlLine(args ...string) string { return line("kubectl", append(args, s.kubectl...)) }

func (s steps) fulcrumLine(args ...string) string { return line(s.program, append(args, s.fulcrum...)) }

// line returns a command line, quoted for a shell and without control characters.
func line(program string, args []string) string {
	var out strings.Builder
	out.WriteString(program)
	for _, a := range args {
		fmt.Fprintf(&out, " %s", output.ShellQuote(a))
	}
	return finding.Printable(out.String())
}
