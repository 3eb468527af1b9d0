package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/checks"
	partitions "github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// checkAccelerators checks what GlobalAccelerators need: the permissions of the controller, the quotas, and how long AWS takes
// to deploy changes. It also reports endpoints that are given by ID. Without the feature gate it does nothing.
func (d *doctor) checkAccelerators(ctx context.Context, caller checks.Identity) {
	const area = "accelerators"
	if !d.Config.Gates.IsEnabled(config.GlobalAcceleratorController) {
		return
	}
	partition := d.checker.Partition()
	if !partitions.HasAccelerators(partition) {
		d.addResult(area, resultWarning, "remove the feature gate GlobalAcceleratorController, which has no effect there", "AWS Global Accelerator does not exist in partition %q of region %q, so GlobalAccelerators are not served", partition, d.aws.Region())
		return
	}
	d.checkPermissions(ctx, caller, rights.AcceleratorStatements)
	d.reportEndpointIDs()
	found, err := d.checker.ReadAccelerators(ctx, time.Now().Add(-durations.SlowChangeAge))
	if err != nil {
		fix := "run doctor again later"
		if checks.IsDenied(err) {
			fix = "grant the user of doctor the actions that list accelerators, see config/iam/" + rights.AcceleratorsFile
		}
		d.addUnchecked(area, resultWarning, err, fix, "accelerators cannot be read: ")
		return
	}
	d.reportUsage(found.Usage)
	for _, a := range found.Slow {
		d.addResult(area, resultWarning, "see the AWS Health Dashboard; changes take effect when AWS has deployed them", "accelerator %q has been in progress since %s: %s", a.Name, a.Since.UTC().Format(time.RFC3339), a.ARN)
	}
	if len(found.Slow) == 0 {
		d.addResult(area, resultOK, "", "no accelerator of the cluster has been in progress for longer than %d minutes", int(durations.SlowChangeAge.Minutes()))
	}
	if found.Unseen > 0 {
		d.addResult(area, resultOK, "", "%d accelerators were not checked, to limit the number of AWS calls", found.Unseen)
	}
}

// reportEndpointIDs lists the GlobalAccelerators that name endpoints by ARN or ID. Such an endpoint becomes reachable from
// the internet, although no Kubernetes object shows who owns it.
func (d *doctor) reportEndpointIDs() {
	if d.store == nil {
		return
	}
	var out []string
	for _, o := range d.store.All(cluster.KindGlobalAccelerator) {
		ids := map[string]bool{}
		for _, l := range o.(*aga.GlobalAccelerator).Spec.Listeners {
			for _, g := range l.EndpointGroups {
				for _, e := range g.Endpoints {
					if e.Type == aga.EndpointTypeEndpointID && e.EndpointID != "" {
						ids[finding.TruncateValue(e.EndpointID)] = true
					}
				}
			}
		}
		if len(ids) > 0 {
			out = append(out, fmt.Sprintf("%s/%s (%s)", o.GetNamespace(), o.GetName(), output.JoinFirst(slices.Sorted(maps.Keys(ids)))))
		}
	}
	if len(out) == 0 {
		return
	}
	bound := "--accelerator-endpoint-ids limits which endpoints may be named"
	if len(d.Config.Accelerators.EndpointIDs) == 0 {
		bound = "without --accelerator-endpoint-ids any endpoint of the account may be named"
	}
	d.addResult("accelerators", resultOK, "", "GlobalAccelerators that name endpoints by ARN or id: %s; %s", output.JoinFirst(out), bound)
}

// checkAcceleratorDefaults compares the defaults in have, the CustomResourceDefinition of GlobalAccelerators in the
// cluster, with the defaults in want, the CustomResourceDefinition of this version. The controller uses a default even if
// it is missing in the cluster, but other readers of the objects do not see the value.
func (d *doctor) checkAcceleratorDefaults(want, have map[string]any) {
	const area = "definitions"
	served := defaultsOf(have)
	var differences []string
	defaults := defaultsOf(want)
	for _, path := range slices.Sorted(maps.Keys(defaults)) {
		if got, found := served[path]; !found {
			differences = append(differences, path+" has no default")
		} else if got != defaults[path] {
			differences = append(differences, fmt.Sprintf("%s has %s", path, got))
		}
	}
	if len(differences) > 0 {
		d.addResult(area, resultWarning, "run \"kubectl apply -f config/crd\"", "defaults of GlobalAccelerators differ from those of this version: %s", output.JoinFirst(differences))
		return
	}
	var texts []string
	for _, path := range slices.Sorted(maps.Keys(defaults)) {
		texts = append(texts, path[strings.LastIndexByte(path, '.')+1:]+" "+defaults[path])
	}
	d.addResult(area, resultOK, "", "defaults of GlobalAccelerators: %s", strings.Join(texts, ", "))
}

// defaultsOf returns the defaults in a CustomResourceDefinition as text, by field path.
func defaultsOf(definition map[string]any) map[string]string {
	out := map[string]string{}
	forEachField(definition, func(path string, schema map[string]any) {
		if v, ok := schema["default"]; ok {
			out[path] = fmt.Sprint(v)
		}
	})
	return out
}
