package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// completeWithin is for how long a shell waits for names.
const completeWithin = 2 * time.Second

// mostCompletions are offered at once.
const mostCompletions = 500

// complete registers what a shell completes besides the names of flags.
func (d *drafting) complete(cmd *cobra.Command) {
	must(cmd.RegisterFlagCompletionFunc("namespace", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(d.names(cluster.KindNamespace), typed), cobra.ShellCompDirectiveNoFileComp
	}))
	must(cmd.RegisterFlagCompletionFunc("context", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(d.contexts(), typed), cobra.ShellCompDirectiveNoFileComp
	}))
}

// completeObjects completes KIND/NAME.
func (d *drafting) completeObjects(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	kind, _, named := strings.Cut(typed, "/")
	if !named {
		var out []string
		for _, k := range shownKinds() {
			out = append(out, strings.ToLower(string(k))+"/")
		}
		return beginning(out, typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	k, err := parseKind(kind)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	out := d.names(k)
	for i := range out {
		out[i] = kind + "/" + out[i]
	}
	return beginning(out, typed), cobra.ShellCompDirectiveNoFileComp
}

// completeReasons completes the reasons of findings.
func completeReasons(typed string) []string {
	var out []string
	for _, r := range finding.Reasons {
		out = append(out, string(r.Reason))
	}
	return beginning(out, typed)
}

// beginning are the words that begin as typed, whatever the case, in order.
func beginning(words []string, typed string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(strings.ToLower(w), strings.ToLower(typed)) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), mostCompletions)]
}

// names are those of the objects of a kind in the namespace that is meant; none if the cluster gives no
// answer.
func (d *drafting) names(kind cluster.Kind) []string {
	typ, ok := cluster.TypeOf(kind)
	rc, err := readOnlyConfig(d.cfg.Kubernetes.Kubeconfig, d.context, d.env)
	if !ok || err != nil {
		return nil
	}
	rc.Timeout = completeWithin
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil
	}
	c, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeWithin)
	defer cancel()
	list := typ.NewList()
	var in client.InNamespace
	if typ.Namespaced && !d.all {
		in = client.InNamespace(d.namespaceOfObjects())
	}
	if err := c.List(ctx, list, in, client.Limit(mostCompletions)); err != nil {
		return nil
	}
	objs, err := kube.Items(list)
	if err != nil {
		return nil
	}
	var out []string
	for _, o := range objs {
		out = append(out, o.GetName())
	}
	return out
}

// contexts are those of the kubeconfig.
func (d *drafting) contexts() []string {
	_, rules, err := userKubeconfig(d.cfg.Kubernetes.Kubeconfig, d.env)
	if err != nil {
		return nil
	}
	raw, err := rules.Load()
	if err != nil {
		return nil
	}
	var out []string
	for name := range raw.Contexts {
		out = append(out, name)
	}
	return out
}

// namespaceOfObjects is the one of objects that are named without one: that of -n, or else of the context.
func (d *drafting) namespaceOfObjects() string {
	if d.namespace != "" {
		return d.namespace
	}
	if !d.filesOnly {
		if _, rules, err := userKubeconfig(d.cfg.Kubernetes.Kubeconfig, d.env); err == nil {
			if raw, err := rules.Load(); err == nil {
				ns, _, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{CurrentContext: d.context}).Namespace()
				if err == nil && ns != "" {
					return ns
				}
			}
		}
	}
	return "default"
}
