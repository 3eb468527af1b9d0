package status

import (
	"strings"
	"testing"
	"unicode/utf8"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestLongConditionMessagesAreCutBetweenCharacters checks that a message that is too long for the API server is cut between
// two characters. The API server would replace a part of a character, so that the status would be written in each run.
func TestLongConditionMessagesAreCutBetweenCharacters(t *testing.T) {
	for _, head := range []string{"", "a", "ab"} {
		got := newCondition(gwv1.GatewayConditionAccepted, "False", gwv1.GatewayReasonInvalid, head+strings.Repeat("é", 40000), 1).Message
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 32768 || !strings.HasSuffix(got, "é...") {
			t.Errorf("%d characters, valid: %t, ends with %q", utf8.RuneCountInString(got), utf8.ValidString(got), got[len(got)-8:])
		}
	}
}
