package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// MaxReview is the maximum size of an AdmissionReview in bytes. An AdmissionReview may contain two objects of the maximum
// size that the API server accepts.
const MaxReview = 7 << 20

// handler answers the requests for one path.
type handler struct {
	answer reviewFunc
	log    logr.Logger
	// refusals counts the denied requests by check.
	refusals *prometheus.CounterVec
	// panics counts panics; nil does not count them.
	panics prometheus.Counter
}

// ServeHTTP answers an AdmissionReview. If the body is not an AdmissionReview, or if the check fails with an error, it
// answers with an HTTP error, so that the failure policy of the webhook applies.
func (h handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if t, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || t != "application/json" {
		http.Error(w, "the content type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxReview))
	if err != nil {
		code := http.StatusBadRequest
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			code = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), code)
		return
	}
	var in admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if in.APIVersion != admissionv1.SchemeGroupVersion.String() || in.Kind != "AdmissionReview" || in.Request == nil {
		http.Error(w, "an AdmissionReview of "+admissionv1.SchemeGroupVersion.String()+" with a request is expected", http.StatusBadRequest)
		return
	}
	q := in.Request
	ctx, cancel := context.WithTimeout(req.Context(), durations.AdmissionTimeout)
	defer cancel()
	log := h.log.WithValues("namespace", q.Namespace, "name", q.Name, "resource", q.Resource.Resource, "operation", q.Operation)
	a, err := h.review(ctx, log, Request{Operation: q.Operation, Namespace: q.Namespace, Object: q.Object.Raw, Old: q.OldObject.Raw})
	out := &admissionv1.AdmissionResponse{UID: q.UID, Warnings: a.Warnings}
	var decodeErr decodeError
	switch {
	case errors.As(err, &decodeErr):
		out.Result = failureStatus(http.StatusBadRequest, metav1.StatusReasonBadRequest, decodeErr.Error())
	case err != nil:
		log.Error(err, "admission request failed")
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	case a.Refusal != nil:
		h.refusals.WithLabelValues(a.Refusal.Check).Inc()
		log.V(1).Info("denied", "check", a.Refusal.Check, "message", a.Refusal.Message)
		out.Result = failureStatus(http.StatusForbidden, metav1.StatusReasonForbidden, a.Refusal.Message)
	default:
		out.Allowed = true
		if len(a.Changes) > 0 {
			if out.Patch, err = json.Marshal(a.Changes); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			kind := admissionv1.PatchTypeJSONPatch
			out.PatchType = &kind
		}
	}
	w.Header().Set("Content-Type", "application/json")
	// Writing the answer fails only if the API server has closed the connection.
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: in.TypeMeta, Response: out})
}

// review calls the answer function for creations and updates. Other requests are allowed. A panic becomes an error.
func (h handler) review(ctx context.Context, log logr.Logger, r Request) (a Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("internal error of the controller; see its log")
			log.Error(fmt.Errorf("panic: %v", p), "panic in admission webhook", "stack", string(debug.Stack()))
			if h.panics != nil {
				h.panics.Inc()
			}
		}
	}()
	if r.Operation != admissionv1.Create && r.Operation != admissionv1.Update {
		return Response{}, nil
	}
	return h.answer(ctx, r)
}

// failureStatus returns the status of a denied request.
func failureStatus(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}
