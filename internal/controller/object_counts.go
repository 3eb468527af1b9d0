package controller

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// objectCounts collects metrics about the cached objects of the cluster. It counts them at each scrape, so that the series
// of deleted objects disappear.
type objectCounts struct{ source syncedSource }

// syncedSource is a source of objects that reports whether its cache is complete.
type syncedSource interface {
	cluster.Source
	Synced() bool
}

var (
	objectsDesc     = prometheus.NewDesc("awslbc_controller_cache_object_total", "Objects in the cache.", []string{"resource"}, nil)
	targetGroupDesc = prometheus.NewDesc("aws_target_group_info", "Target groups into which TargetGroupBindings of the controller register targets.",
		[]string{"namespace", "service", "target_group"}, nil)
)

// Describe implements prometheus.Collector.
func (objectCounts) Describe(ch chan<- *prometheus.Desc) { ch <- objectsDesc; ch <- targetGroupDesc }

// Collect implements prometheus.Collector.
func (c objectCounts) Collect(ch chan<- prometheus.Metric) {
	if !c.source.Synced() {
		return
	}
	for kind, label := range map[cluster.Kind]string{
		cluster.KindService: "service", cluster.KindIngress: "ingress", cluster.KindBinding: "targetgroupbinding",
	} {
		objs, err := c.source.List(cluster.Query{Kind: kind})
		if err != nil {
			continue
		}
		ch <- prometheus.MustNewConstMetric(objectsDesc, prometheus.GaugeValue, float64(len(objs)), label)
		if kind == cluster.KindBinding {
			c.collectTargetGroups(ch, objs)
		}
	}
}

// collectTargetGroups collects one series for each namespace, Service and target group in the TargetGroupBindings that the
// controller has created.
func (c objectCounts) collectTargetGroups(ch chan<- prometheus.Metric, objs []cluster.Object) {
	seen := map[[3]string]bool{}
	for _, o := range objs {
		b, ok := o.(*elbv2.TargetGroupBinding)
		if !ok {
			continue
		}
		if _, ours := naming.StackFromLabels(b.Labels); !ours {
			continue
		}
		arn := b.Spec.TargetGroupARN
		row := [3]string{b.Namespace, b.Spec.ServiceRef.Name, arn[strings.LastIndex(arn, ":")+1:]}
		if seen[row] {
			continue // each series may be sent only once
		}
		seen[row] = true
		ch <- prometheus.MustNewConstMetric(targetGroupDesc, prometheus.GaugeValue, 1, row[:]...)
	}
}
