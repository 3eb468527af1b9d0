package targets

import (
	"strings"
	"testing"
)

func TestTheRoleSessionIsNamedAfterTheCluster(t *testing.T) {
	for name, want := range map[string]string{
		"shop":                   "AWS-LBC-shop",
		"a b/c:d=e@f.g_h-i":      "AWS-LBC-abcd=e@f.g_h-i",
		strings.Repeat("x", 100): "AWS-LBC-" + strings.Repeat("x", 56),
	} {
		if got := sessionName(name); got != want {
			t.Errorf("%s: want %s, got %s", name, want, got)
		}
	}
}
