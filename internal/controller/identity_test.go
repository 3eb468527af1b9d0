package controller

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// TestServiceAccountIsReadFromTheToken checks that the service account is read from the token of the pod. Messages about
// missing permissions name it.
func TestServiceAccountIsReadFromTheToken(t *testing.T) {
	token := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	account := `{"sub":"system:serviceaccount:lb:controller"}`
	for name, c := range map[string]struct {
		cfg  rest.Config
		want string
	}{
		"a file":               {rest.Config{BearerTokenFile: file(token(account) + "\n")}, "lb:controller"},
		"a file that is newer": {rest.Config{BearerToken: token(`{"sub":"system:serviceaccount:a:b"}`), BearerTokenFile: file(token(account))}, "lb:controller"},
		"a token":              {rest.Config{BearerToken: token(account)}, "lb:controller"},
		"a person":             {rest.Config{BearerToken: token(`{"sub":"ann"}`)}, ""},
		"no account":           {rest.Config{BearerToken: token(`{"sub":"system:serviceaccount:"}`)}, ""},
		"a certificate":        {rest.Config{}, ""},
		"not a token":          {rest.Config{BearerToken: "a.%.c"}, ""},
		"not claims":           {rest.Config{BearerToken: token("[]")}, ""},
		"no file":              {rest.Config{BearerTokenFile: "/nowhere/token"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := serviceAccount(&c.cfg); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}
