package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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
	source, rules := "--kubeconfig", &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	if kubeconfig == "" {
		kubeconfig = env.Getenv("KUBECONFIG")
		source, rules = "KUBECONFIG", &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(kubeconfig)}
	}
	if kubeconfig == "" {
		c, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errNoCluster
		}
		return c, err
	}
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
