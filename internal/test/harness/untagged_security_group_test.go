package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// TestRulesInUntaggedSecurityGroupAreRevokedAfterRestart checks that the last Ingress is deleted completely after a restart
// if the security group of the nodes does not have the tag of the cluster.
func TestRulesInUntaggedSecurityGroupAreRevokedAfterRestart(t *testing.T) {
	t.Parallel()
	managed := Options{Checkpoints: true, Ingress: func(o *ingress.Options) { o.NoBackendSecurityGroup = true }}
	for source, opt := range map[string]Options{"shared backend security group": {Checkpoints: true}, "managed security group": managed} {
		t.Run(source, func(t *testing.T) { deleteAfterRestart(t, opt) })
	}
}

// deleteAfterRestart checks that an Ingress is deleted completely after a restart, whatever else is deleted with it.
func deleteAfterRestart(t *testing.T, opt Options) {
	for name, deleteOthers := range map[string]func(*Harness){
		"its pods and its Service remain": func(*Harness) {},
		"its pods are deleted too":        func(r *Harness) { r.Apply(readyPods("web")) },
		"its pods are deleted an hour before": func(r *Harness) {
			r.Apply(readyPods("web"))
			r.advanceTime(time.Hour)
		},
		"its Service is deleted too": func(r *Harness) { r.deleteObject(cluster.KindService, "shop", "web") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, opt)
				untagSecurityGroup(t, r, r.Seeded.NodeSG)
				before := r.State()
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				r.advanceTime(10 * time.Minute)
				if rules := sourcesOfRules(r, r.Seeded.NodeSG); len(rules) != 1 {
					t.Fatalf("rules %v", rules)
				}
				r.Start()
				deleteOthers(r)
				r.deleteObject(cluster.KindIngress, "shop", "web")
				r.advanceTime(10 * time.Minute)
				if diff := cmp.Diff(before, r.State()); diff != "" {
					t.Errorf("resources are left (-before +after):\n%s", diff)
				}
				if left := r.Store.All(cluster.KindIngress); len(left) > 0 {
					t.Errorf("the Ingress is left, with finalizers %v", left[0].GetFinalizers())
				}
			})
		})
	}
}

// untagSecurityGroup removes the tag of the cluster from a security group.
func untagSecurityGroup(t *testing.T, r *Harness, id string) {
	t.Helper()
	_, err := ec2.NewFromConfig(AWSConfig(r.Emulator)).DeleteTags(t.Context(), &ec2.DeleteTagsInput{
		Resources: []string{id}, Tags: []ec2types.Tag{{Key: aws.String(clusterTag)}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sourcesOfRules returns the security groups from which a security group has inbound rules.
func sourcesOfRules(r *Harness, id string) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, rule := range w.Partition(Account, RegionOf(r.Emulator)).SecurityGroups[id].Ingress {
		if rule.Peer.Group != "" {
			out = append(out, rule.Peer.Group)
		}
	}
	return out
}
