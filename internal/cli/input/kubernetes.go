package input

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// errNoCluster is the error if no flag, environment variable or pod names a cluster.
var errNoCluster = errors.New("no cluster: neither --kubeconfig nor KUBECONFIG is set, and the process is not in a pod")

// RESTConfig returns the client configuration for the API server. It is read from --kubeconfig, or else from KUBECONFIG, or
// else from the service account of the pod.
func RESTConfig(kubeconfig string, env output.Environment) (*rest.Config, error) {
	source, rules := namedKubeconfig(kubeconfig, env)
	if rules != nil {
		return loadKubeconfig(source, "", rules)
	}
	c, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errNoCluster
	}
	return c, err
}

// namedKubeconfig returns the kubeconfig that --kubeconfig or KUBECONFIG names, or nil if neither is set. source is the name
// and value of the setting, for errors.
func namedKubeconfig(kubeconfig string, env output.Environment) (source string, rules *clientcmd.ClientConfigLoadingRules) {
	if kubeconfig != "" {
		return fmt.Sprintf("--kubeconfig %q", kubeconfig), &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	}
	if list := env.Getenv("KUBECONFIG"); list != "" {
		return fmt.Sprintf("KUBECONFIG %q", list), &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(list)}
	}
	return "", nil
}

// userKubeconfig returns the kubeconfig of a command that changes nothing. Like kubectl, and unlike the controller, it
// falls back to ~/.kube/config.
func userKubeconfig(kubeconfig string, env output.Environment) (source string, rules *clientcmd.ClientConfigLoadingRules, err error) {
	if source, rules = namedKubeconfig(kubeconfig, env); rules != nil {
		return source, rules, nil
	}
	home := env.Getenv("HOME")
	if home == "" {
		return "", nil, errNoCluster
	}
	file := filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)
	if _, err := os.Stat(file); err != nil {
		return "", nil, fmt.Errorf("%w; %q cannot be read either", errNoCluster, file)
	}
	return fmt.Sprintf("kubeconfig %q", file), &clientcmd.ClientConfigLoadingRules{ExplicitPath: file}, nil
}

// ReadOnlyConfig returns the client configuration of commands that change nothing. Unlike RESTConfig it falls back to
// ~/.kube/config. context is the name of a context of the kubeconfig, or "" for the current context.
func ReadOnlyConfig(kubeconfig, context string, env output.Environment) (*rest.Config, error) {
	if _, rules := namedKubeconfig(kubeconfig, env); rules == nil && context == "" {
		if c, err := RESTConfig(kubeconfig, env); !errors.Is(err, errNoCluster) {
			return c, err
		}
	}
	source, rules, err := userKubeconfig(kubeconfig, env)
	if err != nil {
		return nil, err
	}
	return loadKubeconfig(source, context, rules)
}

// loadKubeconfig reads a kubeconfig. source describes it in errors. context is the name of a context, or "" for the current
// context.
func loadKubeconfig(source, context string, rules *clientcmd.ClientConfigLoadingRules) (*rest.Config, error) {
	raw, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", source, err)
	}
	if _, known := raw.Contexts[context]; context != "" && !known {
		return nil, fmt.Errorf("%s has no context %q%s; see \"kubectl config get-contexts\"", source, context,
			finding.SpellingHint(context, slices.Sorted(maps.Keys(raw.Contexts))))
	}
	c, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("%s names no cluster; check that the file exists and has a current context", source)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return c, nil
}

// CheckReachable returns an error if the API server does not answer. It ignores an error that the API server returns,
// because the first list of objects reports that error.
func CheckReachable(ctx context.Context, c *rest.Config) error {
	short := rest.CopyConfig(c)
	short.Timeout = durations.AnswerTimeout
	d, err := discovery.NewDiscoveryClientForConfig(short)
	if err != nil {
		return err
	}
	var failed *url.Error
	if err := d.RESTClient().Get().AbsPath("/version").Do(ctx).Error(); errors.As(err, &failed) {
		return fmt.Errorf("the API server at %q does not answer: %w", c.Host, failed.Err)
	}
	return nil
}
