package dataplane

// claimHeaders are set by authentication alone.
var claimHeaders = []string{"X-Amzn-Oidc-Accesstoken", "X-Amzn-Oidc-Identity", "X-Amzn-Oidc-Data"}
