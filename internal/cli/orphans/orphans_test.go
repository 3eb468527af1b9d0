package orphans

import (
	"strings"
	"testing"
)

// TestOrphansWarnsAboutUnknownCluster checks that the output advises the user to check --cluster-name if no resource has the
// tags of the cluster. If there are resources but no orphans, the output names the cluster and the namespace that were
// checked.
func TestOrphansWarnsAboutUnknownCluster(t *testing.T) {
	orphan := Orphan{Kind: "Ingress", ID: "shop/web", Resources: []string{"load balancer k8s-shop-web"}}
	for want, found := range map[string][]Orphan{
		"no resource in AWS has the tags of cluster \"prdo\"; check --cluster-name": nil,
		"Ingress shop/web\n  load balancer k8s-shop-web\nno object needs":           {orphan},
	} {
		var out strings.Builder
		showOrphans(&out, Document{Cluster: "prdo", Stacks: len(found), Orphans: found})
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	}
	var out strings.Builder
	showOrphans(&out, Document{Cluster: "prod", Stacks: 3})
	if want := "every AWS resource with the tags of cluster \"prod\" belongs to an object\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	showOrphans(&out, Document{Cluster: "prod", Namespace: "shop", Stacks: 3})
	if want := "every AWS resource with the tags of cluster \"prod\" and of namespace \"shop\" belongs to an object; resources of other namespaces and of IngressGroups were not checked\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestOrphansShowsTheCommandThatDeletesCertificates checks that the output has a command that deletes an orphaned
// certificate, because certificates count towards a quota of ACM.
func TestOrphansShowsTheCommandThatDeletesCertificates(t *testing.T) {
	arn := "arn:aws:acm:us-west-2:123456789012:certificate/00000000-0000-0000-0000-000000000001"
	var out strings.Builder
	showOrphans(&out, Document{Cluster: "prod", Stacks: 1, Orphans: []Orphan{{Kind: "Ingress", ID: "shop/web", Resources: []string{arn, "sg-1"}}}})
	if want := "to delete the certificates:\n  aws acm delete-certificate --region us-west-2 --certificate-arn " + arn + "\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q, want %q at the end", out.String(), want)
	}
}
