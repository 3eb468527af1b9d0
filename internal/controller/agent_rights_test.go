package controller

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// TestAgentConfigurationWithoutRight checks that AgentConfig returns a Forbidden error if the controller has no permission
// to read the configuration of the target control agent, and no Forbidden error if the configuration does not exist.
func TestAgentConfigurationWithoutRight(t *testing.T) {
	t.Parallel()
	const resource = "albtargetcontrolconfigs"
	for _, verb := range []string{"", "get"} {
		t.Run(resource+"/"+verb, func(t *testing.T) {
			roles := rights.RolesWithoutVerb("fulcrum-target-control", resource, verb)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				code, reason := http.StatusNotFound, metav1.StatusReasonNotFound
				if !rights.RolesAllow(roles, v1beta1.GroupVersion.Group, resource, "get", "shop", webhook.AgentConfigName) {
					code, reason = http.StatusForbidden, metav1.StatusReasonForbidden
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Reason: reason, Code: int32(code)})
			}))
			t.Cleanup(server.Close)
			scheme, err := cluster.NewScheme()
			if err != nil {
				t.Fatal(err)
			}
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(v1beta1.GroupVersion.WithKind("ALBTargetControlConfig"), meta.RESTScopeNamespace)
			live, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme, Mapper: mapper})
			if err != nil {
				t.Fatal(err)
			}
			out, err := agentConfigs{live}.AgentConfig(t.Context(), "shop")
			if out != nil && err == nil || (err != nil) != (verb != "") || apierrors.IsForbidden(err) != (verb != "") {
				t.Errorf("got %v, %v", out, err)
			}
		})
	}
}

// TestAgentConfigurationWithoutCRD checks that there is no configuration of the target control agent if its CRD is not
// installed. An error would block all pods with the label of the agent.
func TestAgentConfigurationWithoutCRD(t *testing.T) {
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	live, err := client.New(&rest.Config{Host: "http://api.test"}, client.Options{Scheme: scheme, Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := (agentConfigs{live}).AgentConfig(t.Context(), "shop"); out != nil || err != nil {
		t.Errorf("got %v, %v", out, err)
	}
}
