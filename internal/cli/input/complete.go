package input

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// mostCompletions are offered at once.
const mostCompletions = 500

// complete registers what a shell completes besides the names of flags.
func (d *Source) complete(cmd *cobra.Command) {
	output.Must(cmd.RegisterFlagCompletionFunc("namespace", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return WithPrefix(d.objectNames(cluster.KindNamespace), typed), cobra.ShellCompDirectiveNoFileComp
	}))
	output.Must(cmd.RegisterFlagCompletionFunc("context", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return WithPrefix(d.contexts(), typed), cobra.ShellCompDirectiveNoFileComp
	}))
}

// CompleteObjects completes KIND/NAME.
func (d *Source) CompleteObjects(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	kind, _, named := strings.Cut(typed, "/")
	if !named {
		var out []string
		for _, k := range shownKinds() {
			out = append(out, strings.ToLower(string(k))+"/")
		}
		return WithPrefix(out, typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	k, err := parseKind(kind)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	out := d.objectNames(k)
	for i := range out {
		out[i] = kind + "/" + out[i]
	}
	return WithPrefix(out, typed), cobra.ShellCompDirectiveNoFileComp
}

// WithPrefix returns the words that begin as typed, whatever the case, in order.
func WithPrefix(words []string, typed string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(strings.ToLower(w), strings.ToLower(typed)) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), mostCompletions)]
}

// objectNames returns the names of the objects of a kind in the namespace that is meant; none if the cluster gives no
// answer.
func (d *Source) objectNames(kind cluster.Kind) []string {
	typ, ok := cluster.TypeOf(kind)
	rc, err := ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	if !ok || err != nil {
		return nil
	}
	rc.Timeout = durations.Glance
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil
	}
	c, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), durations.Glance)
	defer cancel()
	list := typ.NewList()
	var in client.InNamespace
	if typ.Namespaced && !d.All {
		in = client.InNamespace(d.NamespaceOfObjects())
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

// contexts returns the contexts of the kubeconfig.
func (d *Source) contexts() []string {
	_, rules, err := userKubeconfig(d.Config.Kubernetes.Kubeconfig, d.Env)
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

// NamespaceOfObjects returns the one of objects that are named without one: that of -n, or else of the context.
func (d *Source) NamespaceOfObjects() string {
	if d.Namespace != "" {
		return d.Namespace
	}
	if !d.FilesOnly {
		if _, rules, err := userKubeconfig(d.Config.Kubernetes.Kubeconfig, d.Env); err == nil {
			if raw, err := rules.Load(); err == nil {
				ns, _, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{CurrentContext: d.Context}).Namespace()
				if err == nil && ns != "" {
					return ns
				}
			}
		}
	}
	return "default"
}
