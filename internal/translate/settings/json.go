package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Examples of annotations with a JSON value. Error messages about invalid JSON show them.
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

// decodeAnnotation decodes exactly one JSON value. Object keys are not case-sensitive, and unknown keys are ignored, as in
// aws-load-balancer-controller. form is a valid example, which the error message shows.
func decodeAnnotation(raw string, into any, form string) error {
	if err := decodeJSON(raw, into); err != nil {
		return fmt.Errorf("not the expected JSON: %w; write it like %s", err, form)
	}
	return nil
}

// jsonParser returns a parser that decodes JSON, and then calls check. form is as in decodeAnnotation.
func jsonParser[T any](form string, check func(T) error) func(string) (T, error) {
	return func(raw string) (T, error) {
		var v T
		if err := decodeAnnotation(raw, &v, form); err != nil {
			return v, err
		}
		return v, check(v)
	}
}

func decodeJSON(raw string, into any) error {
	d := json.NewDecoder(strings.NewReader(raw))
	if err := d.Decode(into); err != nil {
		return jsonError(raw, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// jsonError returns an error that describes what is wrong in JSON text, and where, without terms of Go.
func jsonError(raw string, err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		at, what := fieldPath(wrong.Field), wrong.Value
		if at == "" {
			at = "a value"
		}
		if what != "" && strings.ContainsRune("aeiou", rune(what[0])) {
			what = "an " + what
		} else {
			what = "a " + what
		}
		return fmt.Errorf("%s must be %s, not %s%s", at, describeJSONType(wrong.Type), what, textBeforeJSONError(raw, wrong.Offset))
	case errors.Is(err, io.EOF):
		return errors.New("the value is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the JSON ends too early%s", textBeforeJSONError(raw, int64(len(raw))))
	case strings.IndexAny(strings.TrimSpace(raw), "{[") != 0:
		return errors.New("the JSON does not begin with { or [")
	case errors.As(err, &syntax) && syntax.Offset > 0 && syntax.Offset <= int64(len(raw)):
		r, _ := utf8.DecodeRuneInString(raw[syntax.Offset-1:])
		return fmt.Errorf("unexpected character %q%s", r, textBeforeJSONError(raw, syntax.Offset-1))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// maxContextRunes is the maximum number of characters before a JSON error that the message shows.
const maxContextRunes = 24

// textBeforeJSONError returns the text before a JSON error, in the form " after ..."; "" if there is none.
func textBeforeJSONError(raw string, offset int64) string {
	before := []rune(strings.ToValidUTF8(raw[:min(max(offset, 0), int64(len(raw)))], "?"))
	switch {
	case len(before) == 0:
		return ""
	case len(before) > maxContextRunes:
		return " after " + quoteValue("..."+string(before[len(before)-maxContextRunes:]))
	}
	return " after " + quoteValue(string(before))
}

// fieldPath converts a path of Go fields and indexes to the form in which users write it in JSON.
func fieldPath(path string) string {
	var out strings.Builder
	for _, p := range strings.Split(path, ".") {
		if _, err := strconv.Atoi(p); err == nil {
			out.WriteString("[" + p + "]")
			continue
		}
		if out.Len() > 0 {
			out.WriteString(".")
		}
		out.WriteString(lowerFirst(p))
	}
	return out.String()
}

func describeJSONType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list in [ ]"
	case reflect.Struct, reflect.Map:
		return "an object in { }"
	case reflect.String:
		return "a string in quotes"
	case reflect.Bool:
		return "true or false"
	}
	return "a whole number without quotes"
}
