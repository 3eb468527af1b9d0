package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Examples of each JSON form.
const (
	listenPortsForm = `[{"HTTP":80},{"HTTPS":443}]`
	mutualAuthForm  = `[{"port":443,"mode":"verify","trustStore":"NAME"}]`
	actionForm      = `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404"}}`
	conditionsForm  = `[{"field":"host-header","hostHeaderConfig":{"values":["example.com"]}}]`
	transformsForm  = `[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/a","replace":"/"}]}}]`
	cognitoForm     = `{"userPoolARN":"ARN","userPoolClientID":"ID","userPoolDomain":"NAME"}`
	oidcForm        = `{"issuer":"URL","authorizationEndpoint":"URL","tokenEndpoint":"URL","userInfoEndpoint":"URL","secretName":"NAME"}`
	jwtForm         = `{"jwksEndpoint":"URL","issuer":"URL"}`
)

// decode reads exactly one JSON value. Object keys match without regard to case and unknown keys
// are ignored, as users of these annotations are used to. form is an example for those who wrote
// something else.
func decode(raw string, into any, form string) error {
	if err := decodeJSON(raw, into); err != nil {
		return fmt.Errorf("not the expected JSON: %w; write it like %s", err, form)
	}
	return nil
}

func decodeJSON(raw string, into any) error {
	d := json.NewDecoder(strings.NewReader(raw))
	if err := d.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Errorf("%s must not be a %s", wrong.Field, wrong.Value)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text follows the value")
	}
	return nil
}
