package settings

import (
	"slices"
	"strconv"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// TestMistypedAttributeKeys checks that known keys and new keys are not reported. For each known key without its last
// letter, it checks that the finding suggests the correct key.
func TestMistypedAttributeKeys(t *testing.T) {
	for _, known := range []AttributeKeys{ALBAttributeKeys, NLBAttributeKeys, ListenerAttributeKeys, TargetGroupAttributeKeys} {
		for _, key := range known {
			if found := known.FindProbableMistakes(map[string]string{key: ""}, webService, "f", finding.AnnotationInvalid); len(found) > 0 {
				t.Errorf("%s: %v", key, found)
			}
			mistyped := key[:len(key)-1]
			found := known.FindProbableMistakes(map[string]string{mistyped: ""}, webService, "f", finding.AnnotationInvalid)
			want := "attribute key " + strconv.Quote(mistyped) + " is not one that AWS documents (did you mean " + strconv.Quote(key) + "?); AWS refuses the keys that it does not know"
			if len(found) != 1 || found[0].Message != want || found[0].Blocks != finding.BlocksNothing {
				t.Errorf("%v, want %s", found, want)
			}
		}
	}
	if slices.Contains(ALBAttributeKeys, "dns_record.client_routing_policy") || slices.Contains(NLBAttributeKeys, "idle_timeout.timeout_seconds") {
		t.Error("kinds of load balancers have keys of each other")
	}
	if found := ALBAttributeKeys.FindProbableMistakes(map[string]string{"brand.new": "1"}, webService, "f", finding.AnnotationInvalid); len(found) > 0 {
		t.Errorf("a key that may be new: %v", found)
	}
}

// TestAdviceAboutAttributesIsBounded checks that the number of findings about unknown attribute keys is limited.
func TestAdviceAboutAttributesIsBounded(t *testing.T) {
	many := map[string]string{}
	for i := range 1000 {
		many["idle_timeout.timeout_second"+strconv.Itoa(i)] = "1"
	}
	if found := ALBAttributeKeys.FindProbableMistakes(many, webService, "f", finding.AnnotationInvalid); len(found) > maxMistypedKeys {
		t.Errorf("%d findings", len(found))
	}
}

// TestAttributeKeysBelongToMapAnnotations checks that each annotation in attributeKeysByRow exists and is a map.
func TestAttributeKeysBelongToMapAnnotations(t *testing.T) {
	for key := range attributeKeysByRow {
		if !slices.ContainsFunc(slices.Concat(IngressAnnotations.Rows(), ServiceAnnotations.Rows()), func(r Row) bool { return r.Key == key && r.Type == "map" }) {
			t.Errorf("no annotation has the key %q", key)
		}
	}
}
