package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

const (
	// controllerName is the value of the label app.kubernetes.io/name and the name of the container in the Helm charts of
	// the controller.
	controllerName  = "aws-load-balancer-controller"
	controllerLabel = "app.kubernetes.io/name=" + controllerName
	// noController is the value of --flags-from for a command that does not read the flags of a controller.
	noController = "none"
	// maxControllers is the maximum number of Deployments or Leases in a list.
	maxControllers = 20
	// maxReasonLength is the maximum length of the reason why no controller was found, in characters.
	maxReasonLength = 1000
	// giveFlagsFix is the advice in the error about a Deployment that --flags-from names and that cannot be read.
	giveFlagsFix = "set --flags-from=none and give the flags of the controller on the command line"
)

// controllerFlags are the command-line arguments of a controller that runs in the cluster. source describes the controller.
type controllerFlags struct {
	source string
	args   []string
}

// SetControllerFlags sets the flags that the command line does not set to their values in the running controller, and prints
// notes about them. If no controller is found, it prints a note, or returns an error if --flags-from names one. Later calls
// set nothing, and print a note if the flags of the controller have changed.
func (d *Source) SetControllerFlags(ctx context.Context, rc *rest.Config, notes io.Writer) error {
	if d.flagsFrom == noController {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, durations.AnswerTimeout)
	defer done()
	found, err := d.findController(ctx, rc)
	notes = output.PrintableWriter(notes)
	previous, first := d.controllerFlags, !d.controllerFlagsSet
	d.controllerFlagsSet = true
	if err == nil {
		d.controllerFlags = found
	}
	if !first {
		if err == nil && found.source == previous.source && !slices.Equal(found.args, previous.args) {
			fmt.Fprintf(notes, "# the flags of %s have changed; what is shown is with those before; start the command again\n", found.source)
		}
		return nil
	}
	if err != nil {
		if d.flagsFrom != "" {
			return fmt.Errorf("--flags-from %q: %w", d.flagsFrom, err)
		}
		fmt.Fprintf(notes, "# the flags of the controller are not known: %s; defaults and the flags given here are used. Name its Deployment by --flags-from, or give --flags-from=%s\n", finding.Truncate(err.Error(), maxReasonLength), noController)
		return nil
	}
	takeOver := config.InheritFlags(d.flags, found.args)
	if len(takeOver.Flags) > 0 {
		fmt.Fprintf(notes, "# with the flags of %s: %s\n", found.source, flagTexts(takeOver.Flags))
	}
	if len(takeOver.DifferingFlags) > 0 {
		fmt.Fprintf(notes, "# %s has %s; the values given here are used, so the controller may act differently\n", found.source, flagTexts(takeOver.DifferingFlags))
	}
	if len(takeOver.UnavailableFlags) > 0 {
		fmt.Fprintf(notes, "# %s has flags that this version cannot read: %s; give them here if they matter\n", found.source, flagTexts(takeOver.UnavailableFlags))
	}
	return nil
}

// flagTexts joins flags by spaces, and truncates long values.
func flagTexts(flags []string) string {
	out := slices.Clone(flags)
	for i := range out {
		out[i] = finding.TruncateValue(out[i])
	}
	return strings.Join(out, " ")
}

// findController returns the flags of the controller that --flags-from names. If the flag is empty, it returns those of the
// controller that holds the Lease, or of the only Deployment of a controller. If it finds a Lease, it sets the namespace of
// the leader election to that of the Lease.
func (d *Source) findController(ctx context.Context, rc *rest.Config) (controllerFlags, error) {
	apps, err := appsv1client.NewForConfig(rc)
	if err != nil {
		return controllerFlags{}, err
	}
	if d.flagsFrom != "" {
		return flagsOfNamedDeployment(ctx, apps, d.flagsFrom)
	}
	coordination, err := coordinationv1client.NewForConfig(rc)
	if err != nil {
		return controllerFlags{}, err
	}
	lease, why := d.findLease(ctx, coordination)
	namespace := ""
	if lease != nil {
		d.Config.Election.Namespace, namespace = lease.Namespace, lease.Namespace
		if args, known := kube.PublishedFlags(lease); known {
			return controllerFlags{fmt.Sprintf("the controller that holds Lease %s/%s", lease.Namespace, lease.Name), args}, nil
		}
	}
	list, err := apps.Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: controllerLabel, Limit: maxControllers})
	if err != nil {
		err = readError(err, "Deployments")
		if why != nil {
			err = fmt.Errorf("%w, and %w", why, err)
		}
		return controllerFlags{}, err
	}
	return flagsOfSingleDeployment(slices.DeleteFunc(list.Items, func(x appsv1.Deployment) bool { return x.Labels["app.kubernetes.io/name"] != controllerName }), why)
}

// findLease returns the Lease of the controller, or an error with the reason why no Lease was found.
func (d *Source) findLease(ctx context.Context, api coordinationv1client.CoordinationV1Interface) (*coordinationv1.Lease, error) {
	namespace, name := d.Config.Election.Namespace, d.Config.Election.ID
	if namespace == "" {
		list, err := api.Leases("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), Limit: maxControllers})
		if err == nil {
			held := slices.DeleteFunc(list.Items, func(l coordinationv1.Lease) bool {
				return l.Name != name || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == ""
			})
			switch len(held) {
			case 0:
				return nil, fmt.Errorf("no controller holds a Lease %q", name)
			case 1:
				return &held[0], nil
			}
			if renewed := slices.DeleteFunc(slices.Clone(held), func(l coordinationv1.Lease) bool { return isExpired(l, d.Env.Time()) }); len(renewed) == 1 {
				return &renewed[0], nil
			}
			return nil, fmt.Errorf("%d controllers hold Leases %q", len(held), name)
		}
	}
	lease, err := api.Leases(cmp.Or(namespace, "kube-system")).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, readError(err, "Lease "+cmp.Or(namespace, "kube-system")+"/"+name)
	}
	return lease, nil
}

// isExpired reports whether the controller that holds a Lease has not renewed it in time.
func isExpired(l coordinationv1.Lease, now time.Time) bool {
	renewed, seconds := l.Spec.RenewTime, l.Spec.LeaseDurationSeconds
	return renewed != nil && seconds != nil && now.Sub(renewed.Time) > time.Duration(*seconds)*time.Second
}

// flagsOfNamedDeployment returns the flags of the Deployment that text names as [NAMESPACE/]deployment/NAME. Without a
// namespace, it looks for the Deployment in kube-system, and then in all namespaces, where the name must be unique.
func flagsOfNamedDeployment(ctx context.Context, api appsv1client.AppsV1Interface, text string) (controllerFlags, error) {
	words := strings.Split(text, "/")
	namespace := ""
	if len(words) == 3 {
		namespace, words = words[0], words[1:]
	}
	if len(words) != 2 || words[1] == "" || !slices.Contains([]string{"deployment", "deployments", "deploy", "deployment.apps"}, strings.ToLower(words[0])) {
		return controllerFlags{}, fmt.Errorf("write deployment/NAME or NAMESPACE/deployment/NAME, or %s", noController)
	}
	name := words[1]
	deployment, err := api.Deployments(cmp.Or(namespace, "kube-system")).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return flagsOfDeployment(*deployment)
	case namespace != "" || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return controllerFlags{}, fmt.Errorf("%w; %s", readError(err, "Deployment "+cmp.Or(namespace, "kube-system")+"/"+name), giveFlagsFix)
	}
	list, err := api.Deployments("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), Limit: maxControllers})
	if err != nil {
		return controllerFlags{}, fmt.Errorf("%w; give the namespace of the Deployment, as in NAMESPACE/deployment/%s, or %s", readError(err, "Deployments of all namespaces"), name, giveFlagsFix)
	}
	items := slices.DeleteFunc(list.Items, func(x appsv1.Deployment) bool { return x.Name != name })
	found, err := flagsOfSingleDeployment(items, fmt.Errorf("no Deployment %q exists in any namespace; correct the name, or %s", name, giveFlagsFix))
	if len(items) > 1 {
		err = fmt.Errorf("%w; give one of these names", err)
	}
	return found, err
}

// flagsOfSingleDeployment returns the flags of the only Deployment of a list, or an error if the list has several. If the
// list is empty, it returns reason, or a general error if reason is nil.
func flagsOfSingleDeployment(list []appsv1.Deployment, reason error) (controllerFlags, error) {
	switch len(list) {
	case 0:
		return controllerFlags{}, cmp.Or(reason, errors.New("no Deployment of a controller was found"))
	case 1:
		return flagsOfDeployment(list[0])
	}
	var names []string
	for _, x := range list {
		names = append(names, x.Namespace+"/deployment/"+x.Name)
	}
	return controllerFlags{}, fmt.Errorf("found several controllers: %s", output.JoinFirst(names))
}

// flagsOfDeployment returns the command and arguments of the container with the name of the controller, or of the first
// container if no container has this name.
func flagsOfDeployment(x appsv1.Deployment) (controllerFlags, error) {
	containers := x.Spec.Template.Spec.Containers
	if len(containers) == 0 {
		return controllerFlags{}, fmt.Errorf("the Deployment %s/%s has no container", x.Namespace, x.Name)
	}
	c := containers[max(0, slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == controllerName }))]
	return controllerFlags{fmt.Sprintf("Deployment %s/%s", x.Namespace, x.Name), slices.Concat(c.Command, c.Args)}, nil
}

// readError returns an error for users about a failed read. what describes the object or list that was read.
func readError(err error, what string) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you have no permission to read %s", what)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist", what)
	}
	return fmt.Errorf("%s cannot be read: %w", what, err)
}
