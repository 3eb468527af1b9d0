package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// apiServer is a fake API server. It fails the test if a request is not GET.
type apiServer struct {
	t                  *testing.T
	objects            map[schema.GroupVersion]map[string][]cluster.Object // by plural name of the kind
	kinds              map[schema.GroupVersion][]metav1.APIResource
	forbiddenResources map[string]bool // plural names of the kinds that may not be read
	onlyNamespace      string          // the only namespace that may be read; all if empty
	mu                 sync.Mutex
	reads              map[string]int
}

// serveCluster starts an API server with the objects in text, and returns the server and the path of a kubeconfig for it.
// The kubeconfig also has the context "shop" with namespace "shop", and the context "other", whose API server does not
// answer.
func serveCluster(t *testing.T, text string) (*apiServer, string) {
	t.Helper()
	a := &apiServer{t: t, objects: map[schema.GroupVersion]map[string][]cluster.Object{}, kinds: map[schema.GroupVersion][]metav1.APIResource{}, reads: map[string]int{}}
	for _, typ := range cluster.Types() {
		gv := typ.GVK.GroupVersion()
		a.kinds[gv] = append(a.kinds[gv], metav1.APIResource{
			Name: pluralResourceName(typ.Kind), Kind: typ.GVK.Kind, Namespaced: typ.Namespaced, Verbs: metav1.Verbs{"get", "list", "watch"},
		})
		a.objects[gv] = map[string][]cluster.Object{}
	}
	l, err := cluster.LoadYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range l.Objects {
		a.addObject(o)
	}
	core := schema.GroupVersion{Version: "v1"}
	a.kinds[core] = append(a.kinds[core], metav1.APIResource{Name: "events", Kind: "Event", Namespaced: true, Verbs: metav1.Verbs{"list"}})
	leases := schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}
	a.objects[leases], a.kinds[leases] = map[string][]cluster.Object{}, []metav1.APIResource{{Name: "leases", Kind: "Lease", Namespaced: true, Verbs: metav1.Verbs{"get"}}}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	a.objects[apps], a.kinds[apps] = map[string][]cluster.Object{}, []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	text = strings.ReplaceAll(kubeconfigOf(strings.TrimPrefix(server.URL, "http://")), "contexts: [", "contexts: [{name: shop, context: {cluster: c, user: u, namespace: shop}}, {name: other, context: {cluster: gone, user: u}}, ")
	text = strings.Replace(text, "clusters: [", `clusters: [{name: gone, cluster: {server: "http://`+unusedAddress(t)+`"}}, `, 1)
	return a, filepath.Join(writeTempFiles(t, map[string]string{"config": text}), "config")
}

// pluralResourceName returns the plural resource name of a kind, as used in API paths.
func pluralResourceName(k cluster.Kind) string {
	name := strings.ToLower(string(k))
	if strings.HasSuffix(name, "s") {
		return name + "es"
	}
	return name + "s"
}

func (a *apiServer) addObject(o cluster.Object) {
	kind, _ := cluster.KindOf(o)
	typ, _ := cluster.TypeOf(kind)
	o.GetObjectKind().SetGroupVersionKind(typ.GVK)
	byName := a.objects[typ.GVK.GroupVersion()]
	byName[pluralResourceName(kind)] = append(byName[pluralResourceName(kind)], o)
}

// ServeHTTP implements http.Handler.
func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		a.t.Errorf("%s %s: a command has written to the cluster", r.Method, r.URL.Path)
		http.Error(w, "read only", http.StatusMethodNotAllowed)
		return
	}
	a.mu.Lock()
	a.reads[r.URL.Path]++
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/version":
		a.writeJSON(w, map[string]string{"major": "1", "minor": "37", "gitVersion": "v1.37.2"})
	case r.URL.Path == "/api":
		a.writeJSON(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		a.writeJSON(w, a.apiGroups())
	case parts[0] == "api":
		a.serveVersion(w, schema.GroupVersion{Version: parts[1]}, parts[2:])
	case len(parts) >= 3:
		a.serveVersion(w, schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
	default:
		http.NotFound(w, r)
	}
}

func (a *apiServer) apiGroups() metav1.APIGroupList {
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for gv := range a.kinds {
		if gv.Group == "" {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		out.Groups = append(out.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return out
}

// serveVersion answers a request for an API version. rest has the elements of the path after the version.
func (a *apiServer) serveVersion(w http.ResponseWriter, gv schema.GroupVersion, rest []string) {
	namespace := ""
	if len(rest) >= 3 && rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	byName := a.objects[gv]
	switch {
	case byName == nil:
		http.Error(w, "no such version", http.StatusNotFound)
	case len(rest) > 0 && (a.forbiddenResources[rest[0]] || a.onlyNamespace != "" && namespace != a.onlyNamespace):
		w.WriteHeader(http.StatusForbidden)
		a.writeJSON(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Message: rest[0] + " is forbidden", Details: &metav1.StatusDetails{Group: gv.Group, Kind: rest[0]}, Code: http.StatusForbidden})
	case len(rest) == 0:
		a.writeJSON(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: a.kinds[gv]})
	case len(rest) == 1:
		items := []cluster.Object{}
		for _, o := range byName[rest[0]] {
			if namespace == "" || o.GetNamespace() == namespace {
				items = append(items, o)
			}
		}
		a.writeJSON(w, map[string]any{"kind": a.kindOf(gv, rest[0]) + "List", "apiVersion": gv.String(), "metadata": map[string]string{"resourceVersion": "1"}, "items": items})
	default:
		for _, o := range byName[rest[0]] {
			if o.GetName() == rest[1] && (namespace == "" || o.GetNamespace() == namespace) {
				a.writeJSON(w, o)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		a.writeJSON(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

func (a *apiServer) writeJSON(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		a.t.Error(err)
	}
}

func (a *apiServer) kindOf(gv schema.GroupVersion, name string) string {
	for _, k := range a.kinds[gv] {
		if k.Name == name {
			return k.Kind
		}
	}
	return ""
}

// addEvent adds an event about an object to the API server. class is Normal or Warning, and last is the time of the last
// occurrence in RFC 3339 format.
func (a *apiServer) addEvent(namespace, kind, name, class, reason, message, last string, count int32) {
	at, err := time.Parse(time.RFC3339, last)
	if err != nil {
		a.t.Fatal(err)
	}
	gv := schema.GroupVersion{Version: "v1"}
	a.objects[gv]["events"] = append(a.objects[gv]["events"], &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%d", name, len(a.objects[gv]["events"]))},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name},
		Type:           class, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(at), Count: count,
	})
}

// addManifest adds the object in a YAML text. The object may be of any kind.
func (a *apiServer) addManifest(t *testing.T, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	gvk := o.GroupVersionKind()
	gv, name := gvk.GroupVersion(), pluralResourceName(cluster.Kind(gvk.Kind))
	if a.objects[gv] == nil {
		a.objects[gv] = map[string][]cluster.Object{}
	}
	if a.kindOf(gv, name) == "" {
		a.kinds[gv] = append(a.kinds[gv], metav1.APIResource{Name: name, Kind: gvk.Kind, Namespaced: o.GetNamespace() != "", Verbs: metav1.Verbs{"get", "list"}})
	}
	a.objects[gv][name] = append(a.objects[gv][name], o)
}

// addWebhooks adds a mutating and a validating webhook configuration with a CA that expires at the given time. It also adds
// an EndpointSlice of their Service with one endpoint, which is ready if ready is true.
func (a *apiServer) addWebhooks(t *testing.T, expires time.Time, ready bool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: expires.Add(-1000 * time.Hour), NotAfter: expires, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	for _, w := range []struct{ kind, name, policy string }{{"MutatingWebhookConfiguration", "mpod", "Ignore"}, {"ValidatingWebhookConfiguration", "vingress", "Fail"}} {
		a.addManifest(t, fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: aws-load-balancer-webhook}
webhooks:
  - name: %s.elbv2.k8s.aws
    failurePolicy: %s
    clientConfig: {caBundle: %q, service: {name: aws-load-balancer-webhook-service, namespace: kube-system}}
`, w.kind, w.name, w.policy, ca))
	}
	a.addManifest(t, fmt.Sprintf(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: hook, namespace: kube-system, labels: {kubernetes.io/service-name: aws-load-balancer-webhook-service}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: %v}}]
`, ready))
}

// removeKind removes a kind, as if the CustomResourceDefinition of the kind were not installed.
func (a *apiServer) removeKind(kind string) {
	for gv := range a.kinds {
		a.kinds[gv] = slices.DeleteFunc(a.kinds[gv], func(r metav1.APIResource) bool { return r.Kind == kind })
	}
}
