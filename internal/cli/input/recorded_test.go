package input

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

func TestRecordingPreservesConditionsAndActions(t *testing.T) {
	weight, enabled := int32(3), true
	want := observed.Stack{LoadBalancers: []observed.LoadBalancer{{ARN: "lb", Listeners: []observed.Listener{{
		ARN: "l", Port: 443,
		Default: []model.Action{model.FixedResponse{Status: "404"}},
		Rules: []observed.Rule{{
			ARN: "r", Priority: 7,
			Conditions: []model.Condition{
				model.HostHeader{Values: []string{"a"}}, model.PathPattern{Regex: []string{"b"}}, model.HTTPHeader{Name: "c", Values: []string{"d"}},
				model.RequestMethod{Values: []string{"GET"}}, model.QueryString{Pairs: []model.QueryPair{{Key: "k", Value: "v"}}}, model.SourceIP{CIDRs: []string{"10.0.0.0/8"}},
			},
			Actions: []model.Action{
				model.AuthOIDC{Issuer: "i", ClientID: "[redacted]", ClientSecret: "[redacted]"}, model.AuthCognito{Domain: "d"}, model.ValidateJWT{Issuer: "j"}, model.Redirect{Status: "HTTP_301"},
				model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "tg"}, Weight: &weight}}, Stickiness: &model.TargetGroupStickiness{Enabled: &enabled}},
			},
		}},
	}}}}}
	rec, err := recordStack(want)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	var back recordedStack
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	got, err := back.toObserved()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
