package controller

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// serviceAccount returns the service account of this process as namespace:name, from the token in cfg. It returns "" if the
// token names no service account. The result is only used in messages, so the token is not verified.
func serviceAccount(cfg *rest.Config) string {
	token := cfg.BearerToken
	if cfg.BearerTokenFile != "" {
		if data, err := os.ReadFile(cfg.BearerTokenFile); err == nil {
			token = string(data)
		}
	}
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return finding.ServiceAccount(claims.Subject)
}
