package model

import "context"

// tenantKey is the key of the tenant in the context of a run.
type tenantKey struct{}

// WithTenant returns a context for a run whose calls to AWS count for a tenant.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// TenantOf returns the tenant in the context of a run; "" if there is none.
func TenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}
