package certificates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

func TestImportedCertificatesAreCountedPerOwner(t *testing.T) {
	c := &Certificates{}
	c.certs.importedByOthers = 7
	for _, x := range []struct {
		stack  model.StackID
		secret string
	}{
		{model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, "shop/a"},
		{model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}, "vault/a"},
		{model.StackID{Kind: model.NLBGateway, Namespace: "shop", Name: "tls"}, "shop/a"},
		{model.StackID{Kind: model.Ingress, Namespace: "team", Name: "web"}, "team/a"},
		{model.StackID{Kind: model.ALBGateway, Namespace: "team", Name: "edge"}, "shop/a"},
		{model.StackID{Kind: model.Ingress, Name: "group"}, "shop/b"},
	} {
		tags := naming.ResourceTags("c", x.stack, "imported/"+x.secret, nil)
		c.certs.ownCertificates = append(c.certs.ownCertificates, ownCertificate{OwnCertificate: observed.OwnCertificate{ImportedIdentity: &model.CertificateIdentity{}}, tags: tags})
	}
	requested := naming.ResourceTags("c", model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, "certificate/x", nil)
	c.certs.ownCertificates = append(c.certs.ownCertificates, ownCertificate{tags: requested})

	got := c.CountImportedByOwner(model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"})
	want := observed.Imports{AccountTotal: 13, ByNamespace: map[string]int{"shop": 2, "vault": 1}, OtherTenants: []int{1, 2}} // IngressGroup, namespace team
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := c.CountImportedByOwner(model.StackID{Kind: model.Ingress, Name: "group"}); got.ByNamespace["shop"] != 1 || len(got.OtherTenants) != 2 {
		t.Errorf("counts for the IngressGroup: %+v", got)
	}
}
