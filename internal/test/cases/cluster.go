package cases

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// recordCluster records bindings, objects and events of the cluster.
func (rd *reader) recordCluster() {
	rd.t.Helper()
	for _, obj := range rd.harness.Store.All(cluster.KindBinding) {
		if b, ok := obj.(*elbv2.TargetGroupBinding); ok {
			rd.recordBinding(b)
		}
	}
	for _, typ := range cluster.Types() {
		if cluster.StatusOf(typ.New()) == nil || slices.Contains(kindsWithoutRecordedStatus, typ.Kind) {
			continue
		}
		for _, obj := range rd.harness.Store.All(typ.Kind) {
			rd.recordObject(typ.Kind, obj)
		}
	}
	rd.recordEvents()
}

// kindsWithoutRecordedStatus has the kinds whose status is not in the recordings.
var kindsWithoutRecordedStatus = []cluster.Kind{
	cluster.KindLoadBalancerConfiguration, cluster.KindTargetGroupConfiguration, cluster.KindBinding, cluster.KindPod, cluster.KindNode,
	cluster.KindNamespace,
}

func (rd *reader) recordBinding(b *elbv2.TargetGroupBinding) {
	rd.t.Helper()
	group := rd.names.nameOf(b.Spec.TargetGroupARN)
	spec := b.Spec
	spec.TargetGroupARN = ""
	out := map[string]any{
		"Spec": renameAll(DecodedJSON(rd.t, spec), rd.names.replacer()), "Labels": DecodedJSON(rd.t, b.Labels), "Finalizers": DecodedJSON(rd.t, b.Finalizers),
	}
	walkMaps(out["Spec"], func(m map[string]any) {
		if p, ok := m["port"].(float64); ok && recordedPort(int32(p)) == "nodeport" {
			m["port"] = "nodeport"
		}
		if list, ok := m["ingress"].([]any); ok {
			m["ingress"] = sortByJSON(list)
		}
	})
	rd.out.put(bindingsSection, strings.TrimPrefix(group, "tg:"), out)
}

// recordObject records the finalizers and the status of an object, if the controller has written either of them.
func (rd *reader) recordObject(kind cluster.Kind, obj cluster.Object) {
	rd.t.Helper()
	status := DecodedJSON(rd.t, cluster.StatusOf(obj))
	touched := len(obj.GetFinalizers()) > 0
	walkMaps(status, func(m map[string]any) {
		if h, ok := m["hostname"]; ok {
			touched = true
			if h != "" {
				m["hostname"] = "<dns>"
			}
		}
		if _, ok := m["conditions"]; ok {
			touched = true
		}
		if m["type"] == "Hostname" {
			m["value"] = "<dns>"
		}
		if text, ok := m["message"].(string); ok && strings.HasPrefix(text, "arn:") {
			m["message"] = rd.names.nameOf(text)
		}
		delete(m, "lastTransitionTime")
	})
	if !touched {
		return
	}
	out := map[string]any{"status": status}
	if f := obj.GetFinalizers(); len(f) > 0 {
		out["finalizers"] = DecodedJSON(rd.t, f)
	}
	rd.out.put(objectsSection, string(kind)+" "+obj.GetNamespace()+"/"+obj.GetName(), out)
}

// recordEvents records the last event of each object.
func (rd *reader) recordEvents() {
	rd.t.Helper()
	last := map[string]int64{}
	for _, obj := range rd.harness.Store.All("Event") {
		e, ok := obj.(*corev1.Event)
		if !ok || e.InvolvedObject.Kind == cluster.KindBinding {
			continue
		}
		version, err := strconv.ParseInt(e.ResourceVersion, 10, 64)
		key := e.InvolvedObject.Kind + " " + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name
		if must(rd.t, version, err); version > last[key] {
			last[key] = version
			rd.out.put(eventsSection, key, map[string]any{"type": e.Type, "reason": e.Reason, "message": e.Message})
		}
	}
}
