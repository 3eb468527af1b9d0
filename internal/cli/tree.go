package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func newTree(env Environment) *cobra.Command {
	d := &drafting{env: env}
	cmd := &cobra.Command{
		Use: "tree", Short: "Show load balancers with listeners, rules and target groups, and where each comes from", Args: noArguments,
	}
	d.bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := cmd.OutOrStdout()
		store, err := d.objects(cmd.Context(), cmd.InOrStdin(), out)
		if err != nil {
			return err
		}
		return d.each(cmd.Context(), store, func(_ *engine.Engine, draft engine.Draft) error {
			showFindings(out, draft.Findings)
			showTree(out, draft)
			return nil
		})
	}
	return cmd
}

func showTree(w io.Writer, d engine.Draft) {
	s := d.Stack
	fmt.Fprintf(w, "%s %s\n", s.ID.Kind, s.ID)
	if s.ALB == nil {
		fmt.Fprintln(w, "  no load balancer is wanted")
		return
	}
	state := "not made yet"
	if live := d.Have.Live(model.LoadBalancerID); live != nil {
		state = live.State + ", " + live.DNSName
	}
	fmt.Fprintf(w, "  load balancer %s (%s), %s\n", s.ALB.Name, s.ALB.Scheme, state)
	for _, l := range s.ALB.Listeners {
		protocol := "HTTP"
		if l.TLS != nil {
			protocol = "HTTPS"
		}
		fmt.Fprintf(w, "    listener %s:%d\n", protocol, l.Port)
		for _, r := range l.Rules {
			then := actionsText(r.Actions)
			if r.Held != 0 {
				then = "held: what is live is kept, and without that the answer is 503"
			}
			fmt.Fprintf(w, "      %s -> %s%s\n", conditionsText(r), then, from(r.Origin))
		}
		fmt.Fprintf(w, "      otherwise -> %s\n", actionsText(l.Default))
	}
	for _, g := range s.TargetGroups {
		fmt.Fprintf(w, "    target group %s (%s, %s:%d)%s\n", g.ID, g.Type, g.Protocol, g.Port, from(g.Origin))
	}
}

func from(o finding.Origin) string {
	if o == (finding.Origin{}) {
		return ""
	}
	return "   from " + o.String()
}

func conditionsText(r model.Rule) string {
	var parts []string
	for _, c := range r.Conditions {
		switch c := c.(type) {
		case model.HostHeader:
			parts = append(parts, "host "+strings.Join(append(append([]string{}, c.Values...), c.Regex...), " or "))
		case model.PathPattern:
			parts = append(parts, "path "+strings.Join(append(append([]string{}, c.Values...), c.Regex...), " or "))
		case model.HTTPHeader:
			parts = append(parts, "header "+c.Name+" "+strings.Join(append(append([]string{}, c.Values...), c.Regex...), " or "))
		case model.RequestMethod:
			parts = append(parts, "method "+strings.Join(c.Values, " or "))
		case model.QueryString:
			var pairs []string
			for _, p := range c.Pairs {
				pairs = append(pairs, p.Key+"="+p.Value)
			}
			parts = append(parts, "query "+strings.Join(pairs, " or "))
		case model.SourceIP:
			parts = append(parts, "source "+strings.Join(c.CIDRs, " or "))
		}
	}
	if len(parts) == 0 {
		return "always"
	}
	return finding.Printable(strings.Join(parts, ", "))
}

func actionsText(actions []model.Action) string {
	var parts []string
	for _, a := range actions {
		switch a := a.(type) {
		case model.Forward:
			var groups []string
			for _, g := range a.Groups {
				name := g.Group.ID + g.Group.ARN + g.Group.Name
				if g.Weight != nil {
					name += fmt.Sprintf(" weight %d", *g.Weight)
				}
				groups = append(groups, name)
			}
			parts = append(parts, "forward to "+strings.Join(groups, ", "))
		case model.Redirect:
			parts = append(parts, "redirect "+a.Status)
		case model.FixedResponse:
			parts = append(parts, "answer "+a.Status)
		case model.AuthOIDC:
			parts = append(parts, "authenticate by "+a.Issuer)
		case model.AuthCognito:
			parts = append(parts, "authenticate by Cognito")
		case model.ValidateJWT:
			parts = append(parts, "check token of "+a.Issuer)
		}
	}
	return finding.Printable(strings.Join(parts, ", then "))
}
