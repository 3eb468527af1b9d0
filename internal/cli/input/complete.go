package input

import (
	"context"
	"maps"
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

// maxCompletions is the maximum number of completions that are returned to a shell.
const maxCompletions = 500

// registerCompletions registers the completion of the values of flags.
func (d *Source) registerCompletions(cmd *cobra.Command) {
	output.Must(cmd.RegisterFlagCompletionFunc("namespace", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return WithPrefix(d.objectNames(cluster.KindNamespace), typed), cobra.ShellCompDirectiveNoFileComp
	}))
	output.Must(cmd.RegisterFlagCompletionFunc("context", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return WithPrefix(d.contextNames(), typed), cobra.ShellCompDirectiveNoFileComp
	}))
}

// CompleteObjects completes an argument KIND/NAME. Its signature is that of cobra.Command.ValidArgsFunction.
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

// WithPrefix returns the words that begin with typed, in any case. It sorts them and returns at most maxCompletions.
func WithPrefix(words []string, typed string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(strings.ToLower(w), strings.ToLower(typed)) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxCompletions)]
}

// objectNames returns the names of the objects of a kind in the cluster. Unless the command selects all namespaces, it
// returns those in the namespace of the command. It returns nil if the cluster cannot be read.
func (d *Source) objectNames(kind cluster.Kind) []string {
	typ, ok := cluster.TypeOf(kind)
	rc, err := ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	if !ok || err != nil {
		return nil
	}
	rc.Timeout = durations.BriefWait
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil
	}
	c, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), durations.BriefWait)
	defer cancel()
	list := typ.NewList()
	var namespace client.InNamespace
	if typ.Namespaced && !d.AllNamespaces {
		namespace = client.InNamespace(d.NamespaceOfObjects())
	}
	if err := c.List(ctx, list, namespace, client.Limit(maxCompletions)); err != nil {
		return nil
	}
	objs, err := kube.SortedItems(list)
	if err != nil {
		return nil
	}
	var out []string
	for _, o := range objs {
		out = append(out, o.GetName())
	}
	return out
}

// contextNames returns the names of the contexts of the kubeconfig, in any order.
func (d *Source) contextNames() []string {
	_, rules, err := userKubeconfig(d.Config.Kubernetes.Kubeconfig, d.Env)
	if err != nil {
		return nil
	}
	raw, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Keys(raw.Contexts))
}

// NamespaceOfObjects returns the namespace of objects that the command line names as KIND/NAME: the value of -n, else the
// namespace of the kubeconfig context, else "default".
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
