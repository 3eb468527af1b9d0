package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ActionType is the type of an action of a rule.
//
// +kubebuilder:validation:Enum=forward;redirect;fixed-response;authenticate-cognito;authenticate-oidc;jwt-validation
type ActionType string

// The types of actions.
const (
	ActionForward             ActionType = "forward"
	ActionRedirect            ActionType = "redirect"
	ActionFixedResponse       ActionType = "fixed-response"
	ActionAuthenticateCognito ActionType = "authenticate-cognito"
	ActionAuthenticateOIDC    ActionType = "authenticate-oidc"
	ActionJWTValidation       ActionType = "jwt-validation"
)

// UnauthenticatedRequest is how the load balancer handles a request that is not authenticated.
//
// +kubebuilder:validation:Enum=deny;allow;authenticate
type UnauthenticatedRequest string

// JWTClaimFormat is the form of a claim's value.
//
// +kubebuilder:validation:Enum=single-string;string-array;space-separated-values
type JWTClaimFormat string

// ConditionField is the property of a request to which a condition applies.
//
// +kubebuilder:validation:Enum=source-ip
type ConditionField string

// ConditionSourceIP is the field of a condition on the addresses of clients.
const ConditionSourceIP ConditionField = "source-ip"

// TargetGroupStickinessConfig keeps the requests of a client on the target group that received its first request.
type TargetGroupStickinessConfig struct {
	// DurationSeconds is the duration of the stickiness, in seconds.
	// +kubebuilder:default=3600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +optional
	DurationSeconds *int32 `json:"durationSeconds,omitempty"`

	// Enabled switches stickiness on.
	// +kubebuilder:default=false
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// ForwardConfig configures how requests are forwarded to the backends of the rule of the route.
type ForwardConfig struct {
	// TargetGroupStickinessConfig of the action.
	// +kubebuilder:default={}
	// +optional
	TargetGroupStickinessConfig *TargetGroupStickinessConfig `json:"targetGroupStickinessConfig,omitempty"`
}

// RedirectConfig adds to the RequestRedirect filter of the route's rule.
type RedirectConfig struct {
	// Query of the location; an empty query removes the query of the request.
	// +kubebuilder:default="#{query}"
	// +optional
	Query *string `json:"query,omitempty"`
}

// FixedResponseConfig is a response that the load balancer sends itself.
type FixedResponseConfig struct {
	// StatusCode of the response: 200 to 299 or 400 to 599.
	// +kubebuilder:validation:XValidation:rule="(self >= 200 && self <= 299) || (self >= 400 && self <= 599)",message="statusCode must be 200 to 299 or 400 to 599"
	StatusCode int32 `json:"statusCode"`

	// ContentType of the body.
	// +kubebuilder:validation:Enum=text/plain;text/css;text/html;application/javascript;application/json
	// +kubebuilder:default="text/plain"
	// +optional
	ContentType *string `json:"contentType,omitempty"`

	// MessageBody of the response.
	// +optional
	MessageBody *string `json:"messageBody,omitempty"`
}

// AuthenticateCognitoConfig authenticates users with Amazon Cognito.
type AuthenticateCognitoConfig struct {
	// UserPoolARN of the user pool.
	UserPoolARN string `json:"userPoolArn"`

	// UserPoolClientID is the id of the client.
	UserPoolClientID string `json:"userPoolClientId"`

	// UserPoolDomain is the domain prefix or the whole domain of the user pool.
	UserPoolDomain string `json:"userPoolDomain"`

	// AuthenticationRequestExtraParams are additional parameters of the authorization request.
	// +kubebuilder:validation:MaxProperties=10
	// +optional
	AuthenticationRequestExtraParams *map[string]string `json:"authenticationRequestExtraParams,omitempty"`

	// OnUnauthenticatedRequest is how the load balancer handles a request that is not authenticated.
	// +kubebuilder:default="authenticate"
	// +optional
	OnUnauthenticatedRequest *UnauthenticatedRequest `json:"onUnauthenticatedRequest,omitempty"`

	// Scope is the set of user claims to request.
	// +kubebuilder:default="openid"
	// +optional
	Scope *string `json:"scope,omitempty"`

	// SessionCookieName is the name of the cookie.
	// +kubebuilder:default="AWSELBAuthSessionCookie"
	// +optional
	SessionCookieName *string `json:"sessionCookieName,omitempty"`

	// SessionTimeout is the duration of a session, in seconds.
	// +kubebuilder:default=604800
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +optional
	SessionTimeout *int64 `json:"sessionTimeout,omitempty"`
}

// Secret names a Secret of the same namespace.
type Secret struct {
	// Name of the Secret, which has the keys clientID and clientSecret.
	Name string `json:"name"`
}

// AuthenticateOIDCConfig authenticates users with an OpenID Connect provider.
type AuthenticateOIDCConfig struct {
	// Issuer of the provider.
	Issuer string `json:"issuer"`

	// AuthorizationEndpoint of the provider.
	AuthorizationEndpoint string `json:"authorizationEndpoint"`

	// TokenEndpoint of the provider.
	TokenEndpoint string `json:"tokenEndpoint"`

	// UserInfoEndpoint of the provider.
	UserInfoEndpoint string `json:"userInfoEndpoint"`

	// Secret with the ID and secret of the client.
	Secret Secret `json:"secret"`

	// UseExistingClientSecret has no effect.
	// +optional
	UseExistingClientSecret *bool `json:"useExistingClientSecret,omitempty"`

	// AuthenticationRequestExtraParams are additional parameters of the authorization request.
	// +kubebuilder:validation:MaxProperties=10
	// +optional
	AuthenticationRequestExtraParams *map[string]string `json:"authenticationRequestExtraParams,omitempty"`

	// OnUnauthenticatedRequest is how the load balancer handles a request that is not authenticated.
	// +kubebuilder:default="authenticate"
	// +optional
	OnUnauthenticatedRequest *UnauthenticatedRequest `json:"onUnauthenticatedRequest,omitempty"`

	// Scope is the set of user claims to request.
	// +kubebuilder:default="openid"
	// +optional
	Scope *string `json:"scope,omitempty"`

	// SessionCookieName is the name of the cookie.
	// +kubebuilder:default="AWSELBAuthSessionCookie"
	// +optional
	SessionCookieName *string `json:"sessionCookieName,omitempty"`

	// SessionTimeout is the duration of a session, in seconds.
	// +kubebuilder:default=604800
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +optional
	SessionTimeout *int64 `json:"sessionTimeout,omitempty"`
}

// JWTAdditionalClaim is a claim that a token must have.
type JWTAdditionalClaim struct {
	// Format of the value.
	Format JWTClaimFormat `json:"format"`

	// Name of the claim.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Values of the claim; the claim must have one of them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=256
	Values []string `json:"values"`
}

// JWTValidationConfig validates bearer tokens.
type JWTValidationConfig struct {
	// Issuer of the tokens.
	// +kubebuilder:validation:MaxLength=256
	Issuer string `json:"issuer"`

	// JWKSEndpoint is the URL of the keys of the issuer.
	// +kubebuilder:validation:MaxLength=256
	JWKSEndpoint string `json:"jwksEndpoint"`

	// AdditionalClaims that a token must have.
	// +optional
	AdditionalClaims []JWTAdditionalClaim `json:"additionalClaims,omitempty"`
}

// Action of a rule.
//
// +kubebuilder:validation:XValidation:rule="has(self.forwardConfig) == (self.type == 'forward')",message="forwardConfig is for type forward and required there"
// +kubebuilder:validation:XValidation:rule="has(self.redirectConfig) == (self.type == 'redirect')",message="redirectConfig is for type redirect and required there"
// +kubebuilder:validation:XValidation:rule="has(self.fixedResponseConfig) == (self.type == 'fixed-response')",message="fixedResponseConfig is for type fixed-response and required there"
// +kubebuilder:validation:XValidation:rule="has(self.authenticateCognitoConfig) == (self.type == 'authenticate-cognito')",message="authenticateCognitoConfig is for type authenticate-cognito and required there"
// +kubebuilder:validation:XValidation:rule="has(self.authenticateOIDCConfig) == (self.type == 'authenticate-oidc')",message="authenticateOIDCConfig is for type authenticate-oidc and required there"
// +kubebuilder:validation:XValidation:rule="has(self.jwtValidationConfig) == (self.type == 'jwt-validation')",message="jwtValidationConfig is for type jwt-validation and required there"
type Action struct {
	// Type of the action.
	Type ActionType `json:"type"`

	// ForwardConfig of type forward.
	// +optional
	ForwardConfig *ForwardConfig `json:"forwardConfig,omitempty"`

	// RedirectConfig of type redirect.
	// +optional
	RedirectConfig *RedirectConfig `json:"redirectConfig,omitempty"`

	// FixedResponseConfig of type fixed-response.
	// +optional
	FixedResponseConfig *FixedResponseConfig `json:"fixedResponseConfig,omitempty"`

	// AuthenticateCognitoConfig of type authenticate-cognito.
	// +optional
	AuthenticateCognitoConfig *AuthenticateCognitoConfig `json:"authenticateCognitoConfig,omitempty"`

	// AuthenticateOIDCConfig of type authenticate-oidc.
	// +optional
	AuthenticateOIDCConfig *AuthenticateOIDCConfig `json:"authenticateOIDCConfig,omitempty"`

	// JWTValidationConfig of type jwt-validation.
	// +optional
	JWTValidationConfig *JWTValidationConfig `json:"jwtValidationConfig,omitempty"`
}

// SourceIPConfig has address ranges of clients.
type SourceIPConfig struct {
	// Values are address ranges in CIDR notation.
	// +kubebuilder:validation:MinItems=1
	Values []string `json:"values"`
}

// Condition of a rule, in addition to the matches of the route.
//
// +kubebuilder:validation:XValidation:rule="has(self.sourceIPConfig) == (self.field == 'source-ip')",message="sourceIPConfig is for field source-ip and required there"
type Condition struct {
	// Field is the property of the request to which the condition applies.
	Field ConditionField `json:"field"`

	// SourceIPConfig of field source-ip.
	// +optional
	SourceIPConfig *SourceIPConfig `json:"sourceIPConfig,omitempty"`

	// MatchIndexes are indexes in the list of matches of the rule of the route. Default: all matches.
	// +optional
	MatchIndexes *[]int `json:"matchIndexes,omitempty"`
}

// ListenerRuleConfigurationSpec has the settings of a rule for which its route has no fields.
//
// +kubebuilder:validation:XValidation:rule="!has(self.actions) || size(self.actions) > 0",message="actions must not be empty"
// +kubebuilder:validation:XValidation:rule="!has(self.actions) || size(self.actions.filter(a, a.type in ['authenticate-oidc', 'authenticate-cognito', 'jwt-validation'])) <= 1",message="at most one of authenticate-oidc, authenticate-cognito and jwt-validation is allowed"
// +kubebuilder:validation:XValidation:rule="!has(self.actions) || size(self.actions.filter(a, a.type in ['fixed-response', 'forward', 'redirect'])) <= 1",message="at most one of fixed-response, forward and redirect is allowed"
type ListenerRuleConfigurationSpec struct {
	// Actions of the rule: at most one that authenticates, and at most one that forwards, redirects or returns a fixed
	// response.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +optional
	Actions []Action `json:"actions,omitempty"`

	// Conditions of the rule, in addition to the matches of the route.
	// +kubebuilder:validation:MinItems=1
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`

	// Tags of the rule.
	// +optional
	Tags *map[string]string `json:"tags,omitempty"`
}

// ListenerRuleConfigurationStatus reports whether a configuration can be used.
type ListenerRuleConfigurationStatus struct {
	// Accepted reports whether the configuration can be used.
	// +optional
	Accepted *bool `json:"accepted,omitempty"`

	// Message is the reason why the configuration cannot be used.
	// +optional
	Message *string `json:"message,omitempty"`

	// ObservedGeneration is the generation for which the status was written.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
}

// ListenerRuleConfiguration describes rules of an Application Load Balancer. A rule of an HTTPRoute or GRPCRoute
// names it in a filter of type ExtensionRef.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="CONDITIONS",type="string",JSONPath=".spec.conditions[*].field",description="What a request must be like"
// +kubebuilder:printcolumn:name="ACTIONS",type="string",JSONPath=".spec.actions[*].type",description="What is done with it"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ListenerRuleConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ListenerRuleConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status ListenerRuleConfigurationStatus `json:"status,omitempty"`
}

// ListenerRuleConfigurationList is a list of ListenerRuleConfigurations.
//
// +kubebuilder:object:root=true
type ListenerRuleConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ListenerRuleConfiguration `json:"items"`
}
