package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
	// controllerName is the name that the charts give the controller: its label and its container.
	controllerName  = "aws-load-balancer-controller"
	controllerLabel = "app.kubernetes.io/name=" + controllerName
	// noController is the value of --flags-from that takes no flags over.
	noController = "none"
	// mostControllers are looked at.
	mostControllers = 20
	// longestFault bounds the reason why none was found.
	longestFault = 1000
	// otherFlags is what to do where those of a Deployment that is named cannot be read.
	otherFlags = "give --flags-from=none, and here the flags that the controller has"
)

// controllerFlags are the flags of a controller, and which one that is.
type controllerFlags struct {
	of   string
	args []string
}

// TakeFlags sets the flags that the command line does not give to those of the controller, once.
func (d *Source) TakeFlags(ctx context.Context, rc *rest.Config, notes io.Writer) error {
	if d.taken || d.flagsFrom == noController {
		return nil
	}
	d.taken = true
	ctx, done := context.WithTimeout(ctx, durations.Answer)
	defer done()
	found, err := d.findController(ctx, rc)
	notes = output.Printable(notes)
	if err != nil {
		if d.flagsFrom != "" {
			return fmt.Errorf("--flags-from %q: %w", d.flagsFrom, err)
		}
		fmt.Fprintf(notes, "# the flags of the controller are not known: %s; defaults and the flags given here count. Name its Deployment by --flags-from, or give --flags-from=%s\n", finding.CutTo(longestFault, err.Error()), noController)
		return nil
	}
	took := config.TakeOver(d.flags, found.args)
	if len(took.Flags) > 0 {
		fmt.Fprintf(notes, "# with the flags of %s: %s\n", found.of, flagTexts(took.Flags))
	}
	if len(took.Differing) > 0 {
		fmt.Fprintf(notes, "# %s has %s; the values given here count, so the controller may do otherwise\n", found.of, flagTexts(took.Differing))
	}
	if len(took.Unavailable) > 0 {
		fmt.Fprintf(notes, "# %s has flags that this version cannot read: %s; give them here if they matter\n", found.of, flagTexts(took.Unavailable))
	}
	return nil
}

func flagTexts(flags []string) string {
	out := slices.Clone(flags)
	for i := range out {
		out[i] = finding.Cut(out[i])
	}
	return strings.Join(out, " ")
}

func (d *Source) findController(ctx context.Context, rc *rest.Config) (controllerFlags, error) {
	apps, err := appsv1client.NewForConfig(rc)
	if err != nil {
		return controllerFlags{}, err
	}
	if d.flagsFrom != "" {
		return deploymentNamed(ctx, apps, d.flagsFrom)
	}
	coordination, err := coordinationv1client.NewForConfig(rc)
	if err != nil {
		return controllerFlags{}, err
	}
	lease, why := d.lease(ctx, coordination)
	namespace := ""
	if lease != nil {
		d.Config.Election.Namespace, namespace = lease.Namespace, lease.Namespace
		if args, known := kube.PublishedFlags(lease); known {
			return controllerFlags{fmt.Sprintf("the controller that holds Lease %s/%s", lease.Namespace, lease.Name), args}, nil
		}
	}
	list, err := apps.Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: controllerLabel, Limit: mostControllers})
	if err != nil {
		err = readError(err, "Deployments")
		if why != nil {
			err = fmt.Errorf("%w, and %w", why, err)
		}
		return controllerFlags{}, err
	}
	return flagsOfOnlyDeployment(slices.DeleteFunc(list.Items, func(x appsv1.Deployment) bool { return x.Labels["app.kubernetes.io/name"] != controllerName }), why)
}

// lease returns the lease of the controller; nil if there is none, with the reason.
func (d *Source) lease(ctx context.Context, api coordinationv1client.CoordinationV1Interface) (*coordinationv1.Lease, error) {
	namespace, name := d.Config.Election.Namespace, d.Config.Election.ID
	if namespace == "" {
		list, err := api.Leases("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), Limit: mostControllers})
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
			return nil, fmt.Errorf("%d controllers hold Leases %q", len(held), name)
		}
	}
	lease, err := api.Leases(cmp.Or(namespace, "kube-system")).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, readError(err, "Lease "+cmp.Or(namespace, "kube-system")+"/"+name)
	}
	return lease, nil
}

// deploymentNamed reads [NAMESPACE/]deployment/NAME. Without a namespace it is kube-system, or the only one with a
// Deployment of this name.
func deploymentNamed(ctx context.Context, api appsv1client.AppsV1Interface, text string) (controllerFlags, error) {
	words := strings.Split(text, "/")
	namespace := ""
	if len(words) == 3 {
		namespace, words = words[0], words[1:]
	}
	if len(words) != 2 || words[1] == "" || !slices.Contains([]string{"deployment", "deployments", "deploy", "deployment.apps"}, strings.ToLower(words[0])) {
		return controllerFlags{}, fmt.Errorf("write deployment/NAME or NAMESPACE/deployment/NAME, or %s", noController)
	}
	name := words[1]
	one, err := api.Deployments(cmp.Or(namespace, "kube-system")).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return flagsOfDeployment(*one)
	case namespace != "" || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return controllerFlags{}, fmt.Errorf("%w; %s", readError(err, "Deployment "+cmp.Or(namespace, "kube-system")+"/"+name), otherFlags)
	}
	list, err := api.Deployments("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), Limit: mostControllers})
	if err != nil {
		return controllerFlags{}, fmt.Errorf("%w of all namespaces; name that of the Deployment, as in NAMESPACE/deployment/%s, or %s", readError(err, "Deployments"), name, otherFlags)
	}
	return flagsOfOnlyDeployment(slices.DeleteFunc(list.Items, func(x appsv1.Deployment) bool { return x.Name != name }),
		fmt.Errorf("no Deployment %q exists in any namespace; correct the name, or %s", name, otherFlags))
}

func flagsOfOnlyDeployment(found []appsv1.Deployment, why error) (controllerFlags, error) {
	switch len(found) {
	case 0:
		return controllerFlags{}, cmp.Or(why, errors.New("no Deployment of a controller was found"))
	case 1:
		return flagsOfDeployment(found[0])
	}
	var names []string
	for _, x := range found {
		names = append(names, x.Namespace+"/deployment/"+x.Name)
	}
	return controllerFlags{}, fmt.Errorf("there are several controllers: %s", output.JoinFirst(names))
}

// flagsOfDeployment returns the arguments of the controller's container.
func flagsOfDeployment(x appsv1.Deployment) (controllerFlags, error) {
	all := x.Spec.Template.Spec.Containers
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == controllerName })
	if i < 0 && len(all) > 0 {
		i = 0
	}
	if i < 0 {
		return controllerFlags{}, fmt.Errorf("the Deployment %s/%s has no container", x.Namespace, x.Name)
	}
	return controllerFlags{fmt.Sprintf("Deployment %s/%s", x.Namespace, x.Name), slices.Concat(all[i].Command, all[i].Args)}, nil
}

// readError returns what the failure of a read means.
func readError(err error, what string) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not read %s", what)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist", what)
	}
	return fmt.Errorf("%s cannot be read: %w", what, err)
}
