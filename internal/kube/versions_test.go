package kube

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestBundleVersions checks that BundleVersions returns the versions of the installed CRDs. Without the permission to read
// the CRDs, it returns an error.
func TestBundleVersions(t *testing.T) {
	installed := map[string]string{"gatewayclasses.gateway.networking.k8s.io": "v1.6.3", "gateways.gateway.networking.k8s.io": "v1.6.3", "httproutes.gateway.networking.k8s.io": ""}
	denied := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/")
		version, there := installed[name]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case denied:
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
		case !ok || !there:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
		default:
			o := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
			if version != "" {
				o.Annotations = map[string]string{consts.BundleVersionAnnotation: version}
			}
			_ = json.NewEncoder(w).Encode(o)
		}
	}))
	t.Cleanup(server.Close)
	c, err := metadata.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	kinds := []cluster.Kind{cluster.KindGatewayClass, cluster.KindGateway, cluster.KindHTTPRoute, cluster.KindListenerSet}
	got, err := BundleVersions(t.Context(), c, kinds)
	if err != nil || !maps.Equal(got, installed) {
		t.Errorf("%v, %v", got, err)
	}
	denied = true
	if got, err := BundleVersions(t.Context(), c, kinds); !apierrors.IsForbidden(err) || got != nil {
		t.Errorf("without the right: %v, %v", got, err)
	}
}
