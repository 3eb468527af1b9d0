package assemble_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// TestClientSecretsAreReadAsBefore checks the keys that are read from a Secret, and the characters that are removed from the
// end of their values. Another value would not be the one that existing rules have.
func TestClientSecretsAreReadAsBefore(t *testing.T) {
	type data = map[string]string
	for name, c := range map[string]struct {
		data       data
		id, secret string
		invalid    bool
	}{
		"usual keys":                    {data: data{"clientID": "id", "clientSecret": "s"}, id: "id", secret: "s"},
		"older key of the id":           {data: data{"clientId": "id", "clientSecret": "s"}, id: "id", secret: "s"},
		"both keys of the id":           {data: data{"clientID": "new", "clientId": "old", "clientSecret": "s"}, id: "new", secret: "s"},
		"newlines at the end":           {data: data{"clientID": " id\r\n", "clientSecret": " s\r\n"}, id: " id", secret: " s"},
		"spaces at the end":             {data: data{"clientID": "id \u00a0", "clientSecret": "s \u00a0"}, id: "id", secret: "s \u00a0"},
		"control characters at the end": {data: data{"clientID": "id\x00", "clientSecret": "s\x00"}, id: "id\x00", secret: "s"},
		"no id":                         {data: data{"clientSecret": "s"}, invalid: true},
		"no secret":                     {data: data{"clientID": "id"}, invalid: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &assemble.Builder{}
			id, secret, ok := assemble.ReadClientSecret(b, "ns", "oidc", finding.Origin{}, func(string, string) (*corev1.Secret, bool) {
				s := &corev1.Secret{Data: map[string][]byte{}}
				for k, v := range c.data {
					s.Data[k] = []byte(v)
				}
				return s, true
			})
			if string(id) != c.id || string(secret) != c.secret || ok == c.invalid || len(b.Found) > 0 != c.invalid {
				t.Errorf("got id %q, secret %q, ok %t, %v", string(id), string(secret), ok, b.Found)
			}
		})
	}
}
