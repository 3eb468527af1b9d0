package elbv2

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// checkTransforms returns a copy of the transforms of a rule, or an error if they are invalid.
func checkTransforms(in []types.RuleTransform) ([]types.RuleTransform, error) {
	var sh validation
	for i, t := range in {
		at := fmt.Sprintf("transforms.%d.member.", i+1)
		sh.checkPresent(at+"type", t.Type != "")
		checkEnum(&sh, at+"type", t.Type, t.Type.Values())
		for j, r := range rewriteConfigs(t) {
			sh.checkLength(fmt.Sprintf("%srewrites.%d.member.regex", at, j+1), r.Regex, 0, 1024)
			sh.checkLength(fmt.Sprintf("%srewrites.%d.member.replace", at, j+1), r.Replace, 0, 1024)
		}
	}
	if err := sh.err(); err != nil {
		return nil, err
	}
	seen := map[types.TransformTypeEnum]bool{}
	var out []types.RuleTransform
	for _, t := range in {
		if seen[t.Type] {
			return nil, validationError(store.UnprovenSource, "A rule can only have one '%s' transform", t.Type)
		}
		seen[t.Type] = true
		host := t.Type == types.TransformTypeEnumHostHeaderRewrite
		if host != (t.HostHeaderRewriteConfig != nil) || host == (t.UrlRewriteConfig != nil) {
			return nil, validationError(store.UnprovenSource, "For transforms of type '%s', you must specify exactly its own configuration", t.Type)
		}
		list := rewriteConfigs(t)
		if len(list) != 1 {
			return nil, validationError(store.UnprovenSource, "A transform of type '%s' must have exactly one rewrite", t.Type)
		}
		if list[0].Regex == nil || list[0].Replace == nil {
			return nil, validationError(store.UnprovenSource, "A rewrite must have a regular expression and a replacement")
		}
		if err := checkRegex(*list[0].Regex); err != nil {
			return nil, err
		}
		copied := []types.RewriteConfig{{Regex: new(*list[0].Regex), Replace: new(*list[0].Replace)}}
		done := types.RuleTransform{Type: t.Type}
		if host {
			done.HostHeaderRewriteConfig = &types.HostHeaderRewriteConfig{Rewrites: copied}
		} else {
			done.UrlRewriteConfig = &types.UrlRewriteConfig{Rewrites: copied}
		}
		out = append(out, done)
	}
	return out, nil
}

func rewriteConfigs(t types.RuleTransform) []types.RewriteConfig {
	switch {
	case t.HostHeaderRewriteConfig != nil:
		return t.HostHeaderRewriteConfig.Rewrites
	case t.UrlRewriteConfig != nil:
		return t.UrlRewriteConfig.Rewrites
	}
	return nil
}
