package properties

import (
	"math/rand/v2"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// TestGatewayTranslationAnswersLikeIngressGroup checks that the Gateway API translation of a random IngressGroup answers
// each request as the IngressGroup does. It accepts differences only if a note with severity Lost reports a loss.
func TestGatewayTranslationAnswersLikeIngressGroup(t *testing.T) {
	t.Parallel()
	gateways := gateway.Options{Options: assemble.Options{Cluster: "test"}, ListenerSets: true}
	opt := migrate.Options{
		Ingress: newIngressFrontend(), ALBGateway: gateway.New(model.ALBGateway, gateways), NLBGateway: gateway.New(model.NLBGateway, gateways),
		DefaultSSLPolicy: assemble.Options{}.WithDefaults().DefaultSSLPolicy,
	}
	alike, requests := 0, 0
	failed := 0
	for seed := range uint64(randomIngressGroupCount / 10) {
		r := rand.New(rand.NewPCG(seed, 30))
		objs := randomShape(r).newObjects(r)
		src := newStore(t, objs)
		res, err := migrate.Translate(src, opt)
		if err != nil {
			t.Fatal(err)
		}
		stacks, found, err := migrate.Compile(src, res, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range res.IngressGroups {
			if g.Gateway.IsZero() {
				continue
			}
			port := migrate.PortOf(src)
			got := g.Compare(stacks, port)
			requests += got.Requests
			switch {
			case g.WorstSeverity() == migrate.Lost:
			case len(got.Differences) > 0:
				if failed++; failed > 3 {
					return
				}
				t.Errorf("seed %d: %d differences without a note, first: %s\n%v\n%s", seed, len(got.Differences), got.Differences[0].Text(), found[g.Gateway], describeObjects(objs))
			default:
				alike++
			}
		}
	}
	t.Logf("%d groups alike, %d requests", alike, requests)
	if alike == 0 || requests == 0 {
		t.Error("nothing was compared")
	}
}
