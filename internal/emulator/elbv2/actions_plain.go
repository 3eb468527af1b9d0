package elbv2

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	placeholderProtocol = "#{protocol}"
	placeholderHost     = "#{host}"
	placeholderPort     = "#{port}"
	placeholderPath     = "/#{path}"
	placeholderQuery    = "#{query}"
)

// checkRedirect checks a redirect action, and returns it with placeholders for missing members. A redirect must change the
// protocol, host, port or path.
func checkRedirect(sc actionScope, r types.RedirectActionConfig) (*types.RedirectActionConfig, error) {
	out := &types.RedirectActionConfig{StatusCode: r.StatusCode}
	for _, f := range []struct {
		to   **string
		from *string
		keep string
	}{
		{&out.Protocol, r.Protocol, placeholderProtocol}, {&out.Host, r.Host, placeholderHost}, {&out.Port, r.Port, placeholderPort},
		{&out.Path, r.Path, placeholderPath}, {&out.Query, r.Query, placeholderQuery},
	} {
		value := f.keep
		if f.from != nil {
			value = *f.from
		}
		*f.to = &value
	}
	if !isValidRedirectPath(*out.Path) {
		return nil, store.Errorf(store.ReportSource("terraform-linters/tflint-ruleset-aws#386"), codeAction, "The Path parameter must be a valid path, should start with a '/', and may contain up to one of each of these placeholders: '#{path}', '#{host}', '#{port}'.")
	}
	if n, err := strconv.Atoi(*out.Port); *out.Port != placeholderPort && (err != nil || n < 1 || n > 65535) {
		return nil, validationError(store.UnprovenSource, "The redirect port '%s' must be '%s' or between '1-65535' inclusive", *out.Port, placeholderPort)
	}
	sameProtocol := *out.Protocol == placeholderProtocol || *out.Protocol == string(sc.listener.Protocol)
	samePort := *out.Port == placeholderPort || *out.Port == strconv.Itoa(int(sc.listener.Port))
	if sameProtocol && samePort && *out.Host == placeholderHost && *out.Path == placeholderPath {
		return nil, store.Errorf(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#1752"), codeAction, "The redirect configuration is not valid because it creates a loop.")
	}
	if sc.listener.Protocol == types.ProtocolEnumHttps && *out.Protocol == string(types.ProtocolEnumHttp) {
		return nil, store.Errorf(store.UnprovenSource, codeAction, "You cannot redirect HTTPS to HTTP")
	}
	return out, nil
}

// isValidRedirectPath reports whether a path begins with a slash and contains each placeholder at most once.
func isValidRedirectPath(path string) bool {
	for _, placeholder := range []string{"#{path}", placeholderHost, placeholderPort} {
		if strings.Count(path, placeholder) > 1 {
			return false
		}
	}
	return strings.HasPrefix(path, "/")
}

func checkFixedResponse(f types.FixedResponseActionConfig) (*types.FixedResponseActionConfig, error) {
	out := &types.FixedResponseActionConfig{StatusCode: new(*f.StatusCode)}
	if f.MessageBody != nil {
		out.MessageBody = new(*f.MessageBody)
	}
	kinds := []string{"text/html", "application/json", "application/javascript", "text/css", "text/plain"}
	switch {
	case store.Value(f.ContentType) != "":
		if !slices.Contains(kinds, *f.ContentType) {
			return nil, store.Errorf(store.UnprovenSource, codeAction, "The ContentType must be one of:'text/html', 'application/json', 'application/javascript', 'text/css', 'text/plain'")
		}
		out.ContentType = new(*f.ContentType)
	case store.Value(f.MessageBody) != "":
		out.ContentType = new("text/plain")
	}
	return out, nil
}
