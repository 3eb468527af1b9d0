package serving

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// fakeAPIServer is a fake API server that stores objects by path, with resource versions and permissions.
type fakeAPIServer struct {
	t   *testing.T
	url string

	mu            sync.Mutex
	version       int
	objects       map[string]map[string]any
	forbiddenPath string // part of the paths that are forbidden
	// deniedVerb is a forbidden resource and verb, such as "secrets update". deniedVerbUsed is set when it is
	// requested.
	deniedVerb     string
	deniedVerbUsed bool
	// beforeWrite is called once, before the next write, so that a test can change objects like another client.
	beforeWrite func()
}

const (
	secretPath     = "/api/v1/namespaces/ns/secrets/tls"
	mutatingPath   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hooks"
	validatingPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks"
)

func newFakeAPIServer(t *testing.T) *fakeAPIServer {
	a := &fakeAPIServer{t: t, objects: map[string]map[string]any{}}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	a.url = s.URL
	return a
}

func (a *fakeAPIServer) coreClient() corev1client.CoreV1Interface {
	c, err := corev1client.NewForConfig(&rest.Config{Host: a.url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *fakeAPIServer) hooksClient() admissionclient.AdmissionregistrationV1Interface {
	c, err := admissionclient.NewForConfig(&rest.Config{Host: a.url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// httpMethods has the HTTP methods of the verbs for one object.
var httpMethods = map[string]string{"create": http.MethodPost, "get": http.MethodGet, "patch": http.MethodPatch, "update": http.MethodPut}

func (a *fakeAPIServer) put(path string, obj map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(path, obj)
}

func (a *fakeAPIServer) get(path string) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objects[path]
}

func (a *fakeAPIServer) remove(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.objects, path)
}

func (a *fakeAPIServer) store(path string, obj map[string]any) {
	a.version++
	meta, _ := obj["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	meta["resourceVersion"] = strconv.Itoa(a.version)
	a.objects[path] = obj
}

func versionOf(obj map[string]any) any {
	meta, _ := obj["metadata"].(map[string]any)
	return meta["resourceVersion"]
}

// ServeHTTP implements http.Handler.
func (a *fakeAPIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Error(err)
	}
	a.mu.Lock()
	before := a.beforeWrite
	if r.Method != http.MethodGet {
		a.beforeWrite = nil
	}
	a.mu.Unlock()
	if before != nil && r.Method != http.MethodGet {
		before()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fail := func(code int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: string(reason),
		})
	}
	path := r.URL.Path
	resource, verb, _ := strings.Cut(a.deniedVerb, " ")
	denied := verb != "" && strings.Contains(path, "/"+resource) && r.Method == httpMethods[verb]
	a.deniedVerbUsed = a.deniedVerbUsed || denied
	if denied || a.forbiddenPath != "" && strings.Contains(path, a.forbiddenPath) {
		fail(http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	var in map[string]any
	if len(body) > 0 && r.Method != http.MethodPatch {
		if err := json.Unmarshal(body, &in); err != nil {
			a.t.Error(err)
		}
	}
	if r.Method == http.MethodPost {
		path += "/" + in["metadata"].(map[string]any)["name"].(string)
		if a.objects[path] != nil {
			fail(http.StatusConflict, metav1.StatusReasonAlreadyExists)
			return
		}
		a.store(path, in)
	} else if a.objects[path] == nil {
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	switch r.Method {
	case http.MethodPut:
		if versionOf(in) != versionOf(a.objects[path]) {
			fail(http.StatusConflict, metav1.StatusReasonConflict)
			return
		}
		a.store(path, in)
	case http.MethodPatch:
		data, err := json.Marshal(a.objects[path])
		if err != nil {
			a.t.Error(err)
		}
		patch, err := jsonpatch.DecodePatch(body)
		if err == nil {
			data, err = patch.Apply(data)
		}
		if err != nil {
			fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
			return
		}
		var next map[string]any
		if err := json.Unmarshal(data, &next); err != nil {
			a.t.Error(err)
		}
		a.store(path, next)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a.objects[path])
}
