package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// errNoCluster says that nothing names a cluster.
var errNoCluster = errors.New("no cluster: neither --kubeconfig nor KUBECONFIG is set, and this is no pod")

// restConfig finds the API server by the flag --kubeconfig, by KUBECONFIG, or as a pod does.
func restConfig(kubeconfig string, env Environment) (*rest.Config, error) {
	if kubeconfig != "" {
		return configOf("--kubeconfig", kubeconfig, &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig})
	}
	if list := env.Getenv("KUBECONFIG"); list != "" {
		return configOf("KUBECONFIG", list, &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(list)})
	}
	c, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errNoCluster
	}
	return c, err
}

// readOnlyConfig is restConfig for commands that change nothing. Like kubectl they also take the
// cluster of ~/.kube/config, which the controller does not: its cluster has to be named.
func readOnlyConfig(kubeconfig string, env Environment) (*rest.Config, error) {
	c, err := restConfig(kubeconfig, env)
	home := env.Getenv("HOME")
	if !errors.Is(err, errNoCluster) || home == "" {
		return c, err
	}
	file := filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)
	if _, statErr := os.Stat(file); statErr != nil {
		return nil, fmt.Errorf("%w; %q cannot be read either", err, file)
	}
	return configOf("kubeconfig", file, &clientcmd.ClientConfigLoadingRules{ExplicitPath: file})
}

// configOf reads a kubeconfig; source says what names it.
func configOf(source, kubeconfig string, rules *clientcmd.ClientConfigLoadingRules) (*rest.Config, error) {
	raw, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("%s %q cannot be read: %w", source, kubeconfig, err)
	}
	c, err := clientcmd.NewDefaultClientConfig(*raw, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("%s %q names no cluster; check that the file exists and has a current context", source, kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", source, kubeconfig, err)
	}
	return c, nil
}

// answerWithin is for how long a command for people waits until a server answers at all. The
// controller waits for longer, since what it needs may be starting.
const answerWithin = 5 * time.Second

// reachable returns an error if the API server gives no answer.
func reachable(ctx context.Context, c *rest.Config) error {
	short := rest.CopyConfig(c)
	short.Timeout = answerWithin
	d, err := discovery.NewDiscoveryClientForConfig(short)
	if err != nil {
		return err
	}
	var failed *url.Error
	if err := d.RESTClient().Get().AbsPath("/version").Do(ctx).Error(); errors.As(err, &failed) {
		return fmt.Errorf("the API server at %q does not answer: %w", c.Host, failed.Err)
	}
	return nil // whatever else it answers is said of the first list
}
