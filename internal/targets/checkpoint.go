package targets

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// Annotations that hold hashes of a binding as it was when it was last reconciled completely.
// Their form is shared with other controllers, so that one that takes over finds nothing to do.
const (
	CheckpointAnnotation     = "elbv2.k8s.aws/checkpoint"
	CheckpointTimeAnnotation = "elbv2.k8s.aws/checkpoint-timestamp" // Unix seconds
)

// Checkpoint is a hash of the endpoints and one of the spec.
func Checkpoint(endpoints []Endpoint, spec elbv2.TargetGroupBindingSpec) (string, error) {
	stamps := make([]string, len(endpoints))
	for i, e := range endpoints {
		stamps[i] = e.stamped()
	}
	slices.Sort(stamps)
	return joinDigests(digest([]byte(strings.Join(stamps, ","))), spec)
}

// joinDigests makes a checkpoint of the hash of the endpoints.
func joinDigests(endpoints string, spec elbv2.TargetGroupBindingSpec) (string, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("hash the spec: %w", err)
	}
	return endpoints + "/" + digest(text), nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
