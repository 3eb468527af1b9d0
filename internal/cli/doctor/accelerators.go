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

// accelerators checks what GlobalAccelerators need, where the feature gate is on.
func (d *doctor) accelerators(ctx context.Context, who checks.Identity) {
	const area = "accelerators"
	if !d.Config.Gates.On(config.GlobalAcceleratorController) {
		return
	}
	partition := d.checker.Partition()
	if !partitions.HasAccelerators(partition) {
		d.addResult(area, warned, "remove the feature gate GlobalAcceleratorController, which has no effect there", "AWS Global Accelerator does not exist in partition %q of region %q, so GlobalAccelerators are not served", partition, d.aws.Region())
		return
	}
	d.permissions(ctx, who, rights.Accelerators)
	d.endpointIDs()
	found, err := d.checker.Accelerators(ctx, time.Now().Add(-durations.SlowChange))
	if err != nil {
		fix := "run doctor again later"
		if checks.Denied(err) {
			fix = "grant whoever runs doctor the actions that list accelerators, see config/iam/" + rights.AcceleratorsFile
		}
		d.addUnchecked(area, warned, err, fix, "accelerators cannot be read: ")
		return
	}
	d.checkUsage(found.Usage)
	for _, a := range found.Slow {
		d.addResult(area, warned, "see the AWS Health Dashboard; what was asked for takes effect when AWS has spread it", "accelerator %q has been in progress since %s: %s", a.Name, a.Since.UTC().Format(time.RFC3339), a.ARN)
	}
	if len(found.Slow) == 0 {
		d.addResult(area, healthy, "", "no accelerator of the cluster has been in progress for longer than %d minutes", int(durations.SlowChange.Minutes()))
	}
	if found.Unseen > 0 {
		d.addResult(area, healthy, "", "%d accelerators were not looked at, so that the calls stay few", found.Unseen)
	}
}

// endpointIDs reports what is made reachable from the internet by an ARN or id, without an object that says whose it is.
func (d *doctor) endpointIDs() {
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
						ids[finding.Cut(e.EndpointID)] = true
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
	bound := "--accelerator-endpoint-ids bounds what may be named"
	if len(d.Config.Accelerators.EndpointIDs) == 0 {
		bound = "without --accelerator-endpoint-ids anything of the account may be named"
	}
	d.addResult("accelerators", healthy, "", "GlobalAccelerators that name endpoints by ARN or id: %s; %s", output.JoinFirst(out), bound)
}

// acceleratorDefaults reports defaults of the definition that is served which are not those of this version. Where one is
// missing, the controller takes the value all the same, and others who read the objects do not see it.
func (d *doctor) acceleratorDefaults(want, have map[string]any) {
	const area = "definitions"
	served := defaultsOf(have)
	var differ []string
	all := defaultsOf(want)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if got, there := served[path]; !there {
			differ = append(differ, path+" has none")
		} else if got != all[path] {
			differ = append(differ, fmt.Sprintf("%s has %s", path, got))
		}
	}
	if len(differ) > 0 {
		d.addResult(area, warned, "run \"kubectl apply -f config/crd\"", "defaults of GlobalAccelerators are not those of this version: %s", output.JoinFirst(differ))
		return
	}
	var texts []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, path[strings.LastIndexByte(path, '.')+1:]+" "+all[path])
	}
	d.addResult(area, healthy, "", "defaults of GlobalAccelerators: %s", strings.Join(texts, ", "))
}

// defaultsOf returns the defaults in a definition by the path of their field.
func defaultsOf(definition map[string]any) map[string]string {
	out := map[string]string{}
	eachField(definition, func(path string, schema map[string]any) {
		if v, ok := schema["default"]; ok {
			out[path] = fmt.Sprint(v)
		}
	})
	return out
}
