package finding

// Reason is a stable code of a finding, for alerts, tools and users. Each Reason has a row in Reasons.
type Reason string

// The values of Reason.
const (
	AnnotationInvalid      Reason = "AnnotationInvalid"
	AnnotationConflict     Reason = "AnnotationConflict"
	GroupNameInvalid       Reason = "GroupNameInvalid"
	GroupOrderInvalid      Reason = "GroupOrderInvalid"
	IngressClassInvalid    Reason = "IngressClassInvalid"
	NamespaceNotAllowed    Reason = "NamespaceNotAllowed"
	BackendNotFound        Reason = "BackendNotFound"
	BackendUnsupported     Reason = "BackendUnsupported"
	BackendPortNotFound    Reason = "BackendPortNotFound"
	BackendTypeUnsupported Reason = "BackendTypeUnsupported"
	ActionNotFound         Reason = "ActionNotFound"
	PathInvalid            Reason = "PathInvalid"
	CertificateNotFound    Reason = "CertificateNotFound"
	CertificateMissing     Reason = "CertificateMissing"
	CertificateInvalid     Reason = "CertificateInvalid"
	CertificateNotOwned    Reason = "CertificateNotOwned"
	CertificateInUse       Reason = "CertificateInUse"
	ImportsDisabled        Reason = "ImportsDisabled"
	ImportsLimited         Reason = "ImportsLimited"
	HeldRuleLeftOut        Reason = "HeldRuleLeftOut"
	HostedZoneNotFound     Reason = "HostedZoneNotFound"
	SettingFixed           Reason = "SettingFixed"
	SubnetsNotFound        Reason = "SubnetsNotFound"
	SubnetsUnsuitable      Reason = "SubnetsUnsuitable"
	SecurityGroupNotFound  Reason = "SecurityGroupNotFound"
	TargetGroupDiffers     Reason = "TargetGroupDiffers"
	TargetGroupNotFound    Reason = "TargetGroupNotFound"
	TargetGroupNotOwned    Reason = "TargetGroupNotOwned"
	ListenerConflict       Reason = "ListenerConflict"
	RedirectPortInvalid    Reason = "RedirectPortInvalid"
	SecretNotFound         Reason = "SecretNotFound"
	RulesRevoked           Reason = "RulesRevoked"
	SchemeKept             Reason = "SchemeKept"
	SecretInvalid          Reason = "SecretInvalid"
	TLSNotServed           Reason = "TLSNotServed"
	TagReserved            Reason = "TagReserved"
	TagInvalid             Reason = "TagInvalid"
	LoadBalancerDoubled    Reason = "LoadBalancerDoubled"
	MoreFindings           Reason = "MoreFindings"
	NameTaken              Reason = "NameTaken"
	DriftRepaired          Reason = "DriftRepaired"
	DriftFound             Reason = "DriftFound"
	WriteUndone            Reason = "WriteUndone"
	ChangeNotKept          Reason = "ChangeNotKept"
	ChangedTooOften        Reason = "ChangedTooOften"
	DeletionProtected      Reason = "DeletionProtected"
	FeatureDisabled        Reason = "FeatureDisabled"
	Unsupported            Reason = "Unsupported"
	AccessDenied           Reason = "AccessDenied"
	PlanTooLarge           Reason = "PlanTooLarge"
	QuotaReached           Reason = "QuotaReached"
	RejectedByAWS          Reason = "RejectedByAWS"
	WaitingForTargets      Reason = "WaitingForTargets"
	WaitingToDelete        Reason = "WaitingToDelete"
	RemovalNotTrusted      Reason = "RemovalNotTrusted"
	NodeUnusable           Reason = "NodeUnusable"
	EndpointIgnored        Reason = "EndpointIgnored"
	EndpointMissing        Reason = "EndpointMissing"
	EndpointGroupUnclear   Reason = "EndpointGroupUnclear"
	NetworkingInvalid      Reason = "NetworkingInvalid"
	TargetGroupShared      Reason = "TargetGroupShared"
	TargetsCapped          Reason = "TargetsCapped"
	ServerIDMissing        Reason = "ServerIDMissing"
	WebACLNotFound         Reason = "WebACLNotFound"
	TrustStoreNotFound     Reason = "TrustStoreNotFound"
	ServiceUnavailable     Reason = "ServiceUnavailable"
	RuleTooLarge           Reason = "RuleTooLarge"
	CertificatePending     Reason = "CertificatePending"
	CallFailed             Reason = "CallFailed"
	HostNotOwned           Reason = "HostNotOwned"
	SettingOfClass         Reason = "SettingOfClass"
	RuleUnreachable        Reason = "RuleUnreachable"
	IngressTooLarge        Reason = "IngressTooLarge"
	ServiceTooLarge        Reason = "ServiceTooLarge"
	WaitExpired            Reason = "WaitExpired"
	LoadBalancerReplaced   Reason = "LoadBalancerReplaced"
	LoadBalancerMoved      Reason = "LoadBalancerMoved"
	ReplacedWithGap        Reason = "ReplacedWithGap"
	ReplacementHeld        Reason = "ReplacementHeld"
	AdoptionRefused        Reason = "AdoptionRefused"
	AdoptionDiffers        Reason = "AdoptionDiffers"
	AdoptionReady          Reason = "AdoptionReady"
	LoadBalancerAdopted    Reason = "LoadBalancerAdopted"
	LoadBalancerReturned   Reason = "LoadBalancerReturned"

	GatewayClassInvalid      Reason = "GatewayClassInvalid"
	ParametersInvalid        Reason = "ParametersInvalid"
	RouteValueUnsupported    Reason = "RouteValueUnsupported"
	RouteFieldIgnored        Reason = "RouteFieldIgnored"
	RouteFiltersIncompatible Reason = "RouteFiltersIncompatible"
	ReferenceNotPermitted    Reason = "ReferenceNotPermitted"
	RouteNotAdmitted         Reason = "RouteNotAdmitted"
	BackendKindUnknown       Reason = "BackendKindUnknown"
	GatewayFieldIgnored      Reason = "GatewayFieldIgnored"
	GatewayTooLarge          Reason = "GatewayTooLarge"
	TargetsConfiguredTwice   Reason = "TargetsConfiguredTwice"

	AllWeightsZero          Reason = "AllWeightsZero"
	NotServed               Reason = "NotServed"
	SelectorMatchesNoPod    Reason = "SelectorMatchesNoPod"
	ServiceWithoutEndpoints Reason = "ServiceWithoutEndpoints"
	TargetPortNotFound      Reason = "TargetPortNotFound"

	SpecInvalid            Reason = "SpecInvalid"
	PortOverrideInvalid    Reason = "PortOverrideInvalid"
	EndpointNotFound       Reason = "EndpointNotFound"
	EndpointNotReady       Reason = "EndpointNotReady"
	EndpointElsewhere      Reason = "EndpointElsewhere"
	EndpointDoubled        Reason = "EndpointDoubled"
	ClientIPUnsupported    Reason = "ClientIPUnsupported"
	AcceleratorNotOwned    Reason = "AcceleratorNotOwned"
	AcceleratorRecreated   Reason = "AcceleratorRecreated"
	AcceleratorSettingKept Reason = "AcceleratorSettingKept"
	AcceleratorNotShared   Reason = "AcceleratorNotShared"
	SharedListenerNotFound Reason = "SharedListenerNotFound"
	HeldForGuest           Reason = "HeldForGuest"
)

// Explanation documents a Reason: what it means, and what users can do (Remedy). The findings page of the documentation is
// generated from the Explanations.
type Explanation struct {
	Reason     Reason
	Meaning    string
	Remedy     string
	UsualReach Reach // what findings with this reason usually block
}

// Reasons lists every reason with its meaning, in alphabetical order.
var Reasons = []Explanation{
	{AcceleratorNotOwned, "The status of a GlobalAccelerator names an accelerator that does not have the tags of the object. The accelerator is not changed.", "Check which client writes the status of the object. The controller corrects the field.", BlocksNothing},
	{AcceleratorNotShared, "A GlobalAccelerator names an accelerator whose owner does not permit it to have endpoint groups in the region of its cluster. The accelerator stays unchanged.", "Ask the owner to name the GlobalAccelerator in fulcrum.dev/accelerator-guests, or in a tag of the accelerator.", BlocksNothing},
	{AcceleratorRecreated, "The accelerator of a GlobalAccelerator does not exist in AWS any more. A new accelerator is created, with other addresses unless spec.ipAddresses sets them.", "Replace the old addresses where they are used, for example in DNS records.", BlocksNothing},
	{AcceleratorSettingKept, "A setting of an accelerator is not changed, because the change cannot be undone or is not supported.", "See the message.", BlocksNothing},
	{AccessDenied, "AWS or the API server denies a call because a permission is missing, or the user of a fulcrum command may not read a Secret that the controller can read. Resources that depend on the call or the Secret stay unchanged in AWS.", "Add the permission that the message names to the controller's IAM policy or role. If a command cannot read a Secret, get the permission to read it, or pass the Secret with -f.", BlocksNothing},
	{ActionNotFound, "A backend has the port use-annotation, but the actions annotation of that name does not exist, and missing actions are not tolerated.", "Add the annotation or change the backend.", BlocksRule},
	{AdoptionDiffers, "A Gateway with fulcrum.dev/adopt would answer requests differently, or have other settings, than the objects whose load balancer it takes over.", "See the message; fulcrum migrate --check shows all differences of Ingresses, except in settings that are set only in AWS. Change the routes, or set annotation fulcrum.dev/adopted-by on each object to accept the differences.", BlocksNothing},
	{AdoptionReady, "A Gateway in dry run could take over the load balancer of the object in fulcrum.dev/adopt. There is no obstacle.", "To start, remove annotation gateway.k8s.aws/dry-run from the Gateway.", BlocksNothing},
	{AdoptionRefused, "A Gateway cannot take over the load balancer of the object in fulcrum.dev/adopt. Nothing is changed, and no other load balancer is created for the Gateway.", "Remove the obstacle that the message names. To create a new load balancer for the Gateway, remove the annotation.", BlocksStack},
	{AllWeightsZero, "All backends of a forward action or a route have weight 0. Requests to an Application Load Balancer are answered with 503 (Ingress) or 500 (route). A Network Load Balancer closes new connections (Service) or has no listener for the port (Gateway).", "Give a backend a weight above 0.", BlocksNothing},
	{AnnotationConflict, "Members of an IngressGroup have different values for a load-balancer-wide setting. The value in AWS stays while a class or an accepted member sets it; otherwise the first member in the order of the IngressGroup decides. If Services of several namespaces share a load balancer, the Services of the namespace that owns the load balancer group decide.", "Set the same value on all members, or remove it from all but one.", BlocksNothing},
	{AnnotationInvalid, "An annotation, class parameter or selector does not have the expected form.", "Write the value in the form that the message shows.", BlocksMember},
	{BackendKindUnknown, "A backend of a route is of a kind that load balancers cannot forward to. It gets no requests.", "Name a Service, or a TargetGroupName.", BlocksNothing},
	{BackendNotFound, "A backend names a Service that does not exist. Requests for the rule of an Ingress are answered with 503; the rule is held if its action has several target groups, or with --tolerate-non-existent-backend-service=false. A route forwards requests to its other backends, or answers 500 if it has none. The listener of a Service is held.", "Create the Service or correct its name.", BlocksRule},
	{BackendPortNotFound, "A backend names a port that its Service does not have.", "Use a port number or port name of the Service.", BlocksRule},
	{BackendTypeUnsupported, "Instance targets need a Service of type NodePort or LoadBalancer.", "Change the Service's type, or use target type ip.", BlocksRule},
	{BackendUnsupported, "A backend is something other than a Service.", "Use a Service backend or an action annotation.", BlocksRule},
	{CallFailed, "A call to AWS or to Kubernetes failed for a reason that may be temporary; it is tried again.", "Wait. If the error persists, check the resource or setting that the message names.", BlocksNothing},
	{CertificateInUse, "A certificate that was requested or imported is not needed any more, but something else, such as another load balancer, uses it. The certificate stays in ACM, and the DNS records with which ACM renews it stay. An object that is deleted together with its load balancer keeps its finalizer for at most five minutes, others do not wait. The message to the object for which the certificate was requested or imported has its ARN.", "Find out with aws acm describe-certificate what uses the certificate. While the load balancer exists, the controller deletes the certificate in a later run in which nothing uses it; after that, fulcrum orphans lists it with a command that deletes it.", BlocksNothing},
	{CertificateInvalid, "The certificate in a TLS Secret cannot be imported into ACM: it does not belong to the key, is not valid now, or load balancers do not accept it. The certificate that was imported last stays.", "Correct the Secret as described in the message.", BlocksNothing},
	{CertificateMissing, "A listener serves TLS, but no certificate is set, and no host for which a certificate could be found.", "Set certificate-arn, or add hosts to the rules. For a Gateway, set defaultCertificate of the port, or a hostname of the listener or of a route.", BlocksMember},
	{CertificateNotFound, "A certificate does not exist, or no issued certificate covers a host.", "Request or import the certificate in ACM, or correct certificate-arn.", BlocksMember},
	{CertificateNotOwned, "A listener has a certificate that was imported from a TLS Secret for another load balancer. If the Secret is in another namespace, the certificate is removed from the listener.", "Name a Secret of the namespace, or a certificate by its ARN, or request one in ACM for the host.", BlocksNothing},
	{CertificatePending, "A requested certificate is not issued yet. The message has the cause.", "Create the DNS records that the message names, or grant the controller the permission to create them in Route 53. If ACM did not issue the certificate, correct the hosts or the certificate authority.", BlocksNothing},
	{ChangeNotKept, "AWS repeatedly returns a value that differs from the written one, or another client changes it back after each write. The message has the desired value and the one that AWS returns. The change is repeated with exponential back-off, at most every 15 minutes; other changes are not affected.", "Look in CloudTrail for the client that changes it. If there is none, use a value that AWS keeps.", BlocksNothing},
	{ChangedTooOften, "On a GlobalAccelerator: the desired state changes repeatedly, because the object, or an object or ReferenceGrant that it refers to, is edited repeatedly. The first four changes are made at once, further ones wait for 10, 20, 40 and then 60 s, and use the desired state at that time. After a pause of 15 s and twice the last wait, four changes are made at once again. The withdrawal of a ReferenceGrant has its effect at once. On a TargetGroupBinding: the same targets were registered and deregistered repeatedly. After three registrations of a target within 15 s of each other, the target waits for 5, 10, 20 and then 30 s, and all waiting targets change together. Until then, targets whose pods can serve stay registered. A target that cannot serve is deregistered at once, and the target of a new pod is registered at once. If no other target can serve, the wait is 5 s.", "Find out which client edits the object, or the objects that it refers to; for a TargetGroupBinding, which client edits the Service, its EndpointSlices or the labels of pods, or why pods alternate between ready and unready.", BlocksNothing},
	{ClientIPUnsupported, "A load balancer does not support the requested value of client IP preservation. The other value is used.", "Change the field as described in the message.", BlocksNothing},
	{DeletionProtected, "The load balancer must be deleted, but has deletion protection.", "Disable deletion protection.", BlocksStack},
	{DriftFound, "A resource was changed in AWS outside of the controller, and --drift=report keeps the change. The message has the setting with the old and the new value.", "Restore the setting in AWS, or edit the object: an edit applies the whole desired state.", BlocksNothing},
	{DriftRepaired, "A resource was changed in AWS outside of the controller, and the controller restores it. The message has the setting with the old and the new value.", "To change the setting permanently, edit the object. CloudTrail shows who changed it.", BlocksNothing},
	{EndpointDoubled, "Two endpoints of an endpoint group refer to the same load balancer with different settings. The settings of the first endpoint apply.", "Use the same settings in both, or remove one.", BlocksNothing},
	{EndpointElsewhere, "An endpoint is in another region than its endpoint group. The endpoint is left out.", "Move the endpoint to an endpoint group of its region.", BlocksNothing},
	{EndpointGroupUnclear, "The ENI of a node or pod, or the security group of that ENI in which rules must be created, cannot be determined.", "Add the tag kubernetes.io/cluster/<cluster name> to exactly one security group of the ENI.", BlocksNothing},
	{EndpointIgnored, "An EndpointSlice has an address that does not belong to a pod of its namespace, or that now belongs to a newer pod; or the EndpointSlices of a Service have more endpoints than the controller accepts. The address is not registered.", "Check who writes the EndpointSlices of the Service.", BlocksNothing},
	{EndpointMissing, "A pod has the readiness gate of a TargetGroupBinding but is not one of its endpoints, so the condition of the gate does not become True.", "Check the selector and the address family of the Service, and the node of the pod.", BlocksNothing},
	{EndpointNotFound, "An endpoint of a GlobalAccelerator names an object or resource that does not exist, is being deleted, or has no load balancer that may be an endpoint. The endpoint is left out.", "Create the object or resource, or remove the endpoint.", BlocksNothing},
	{EndpointNotReady, "An endpoint of a GlobalAccelerator names an object that has no load balancer yet, or that cannot be read. The endpoint is added when the load balancer is known.", "See the message, and the events of that object.", BlocksNothing},
	{FeatureDisabled, "A setting needs a feature gate or flag that is not enabled.", "Ask the operator to enable it, or remove the setting.", BlocksRule},
	{GatewayClassInvalid, "The GatewayClass of a Gateway, or the configuration that the GatewayClass names, does not exist. Existing resources in AWS stay unchanged.", "Create the class or its LoadBalancerConfiguration, or correct the reference.", BlocksMember},
	{GatewayFieldIgnored, "A field of a Gateway has no effect. The Gateway is served without it.", "Remove the field, or use the setting of a LoadBalancerConfiguration that the message names.", BlocksNothing},
	{GatewayTooLarge, "The routes of one namespace need more rules than the operator allows on one Gateway, or name more target groups of other owners than AWS accepts. The existing rules of the route stay, and no new ones are created. Or the configuration of a Gateway has more client ranges or certificates than AWS accepts, and the whole Gateway stays unchanged.", "Use fewer matches, hostnames, target groups, client ranges and certificates, or several Gateways.", BlocksMember},
	{GroupNameInvalid, "The name of an IngressGroup has characters other than lower-case letters, digits, dots and hyphens, or is longer than 63 characters.", "Choose a valid name.", BlocksMember},
	{GroupOrderInvalid, "group.order is not a whole number from -1000 to 1000.", "Correct the number.", BlocksMember},
	{HeldForGuest, "An accelerator, or a listener or endpoint group of it, stays unchanged, because another cluster owns an endpoint group of the accelerator. The message names that cluster.", "Remove the endpoint group in that cluster, or withdraw the permission of that cluster.", BlocksNothing},
	{HeldRuleLeftOut, "A rule cannot be created as its object specifies, and a valid rule of the listener has the same conditions; the valid rule serves the requests.", "Correct the rule as its other finding describes, or remove it.", BlocksRule},
	{HostNotOwned, "In isolated tenancy, a host belongs to the namespace whose Ingress used it first. A rule is held if another namespace owns its host, or if its own namespace exceeds the limit of hosts with wildcards. A certificate of a TLS Secret is not imported if it is for a host that another namespace owns, or if it does not match the hostname of the listener.", "Use another host or IngressGroup, use fewer hosts with wildcards, or use a certificate only for your own hosts and the hostname of the listener.", BlocksRule},
	{HostedZoneNotFound, "A certificate must be requested for a host, but the account has no public hosted zone for the host, so ACM could not validate the certificate.", "Create the hosted zone, or import a certificate and name it in certificate-arn.", BlocksMember},
	{ImportsDisabled, "A certificate was imported from a TLS Secret that the object names, but --import-tls-secrets no longer contains the kind of the object. The imported certificate stays in use and is not renewed.", "Restore the flag, or remove the reference to the Secret.", BlocksNothing},
	{ImportsLimited, "A certificate is not imported into ACM yet, because the imports of an account are limited, and the TLS Secret, its namespace, or the cluster has had too many imports. The certificate that was imported last stays. It is replaced before it expires, unless its namespace has used up its share of the yearly quota.", "Find out which Secrets are changed or added repeatedly; the certificate is imported at the time that the message names.", BlocksNothing},
	{IngressClassInvalid, "The IngressClass or its parameters do not exist, or its parameters are not of a supported kind.", "Create or correct the class.", BlocksMember},
	{IngressTooLarge, "An Ingress specifies more listeners or rules than the operator allows one namespace in an IngressGroup, or more client ranges, certificates or target groups of other owners than AWS accepts.", "Name fewer ports or paths, or split the Ingress over several IngressGroups.", BlocksMember},
	{ListenerConflict, "Members of an IngressGroup, ports of a Service, or Services that share a load balancer need different settings of one port. The settings in AWS stay while a member specifies them; otherwise the first one decides.", "Use the same protocol and settings, or another port.", BlocksMember},
	{LoadBalancerAdopted, "A Gateway has taken over the load balancer of an Ingress or a Service, by fulcrum.dev/adopt; this is reported on both. The Ingress or Service still shows the DNS name of the load balancer, and edits of the object have no effect.", "Edit the routes of the Gateway. When the Gateway serves all requests as intended, delete the object and then remove fulcrum.dev/adopt. To get the load balancer back instead, annotate the Gateway with gateway.k8s.aws/dry-run: \"true\" before you delete the object.", BlocksNothing},
	{LoadBalancerDoubled, "Two load balancers have the tags of one stack; one is used and the other is not changed.", "Delete the unused load balancer, or remove the controller's tags from it.", BlocksNothing},
	{LoadBalancerMoved, "A Service moves to or from a load balancer that it shares. The status shows the new load balancer when it serves the Service as well; the previous one still serves for --replacement-deletion-delay. Events report when the move is complete, until when the previous load balancer serves, and that the Service has left it.", "No action is needed. To keep the previous load balancer, restore the previous value of annotation fulcrum.dev/load-balancer-group; if another Service has one of the ports on the shared load balancer, change that port first.", BlocksNothing},
	{LoadBalancerReplaced, "A new load balancer replaces the existing one, because AWS cannot change the setting of an existing load balancer. The status shows the new one when it serves all requests of the previous one, which is deleted --replacement-deletion-delay later.", "No action is needed. To undo the change, restore the previous value; the previous load balancer is used again if it is not deleted yet.", BlocksNothing},
	{LoadBalancerReturned, "The Ingresses or the Service take back their load balancer, which a Gateway had taken over by fulcrum.dev/adopt.", "Wait. If the message reports errors of these objects, correct or delete the objects, or restore the annotation of the Gateway to keep the load balancer there.", BlocksNothing},
	{MoreFindings, "An object has more faults than the controller writes events for.", "Correct the faults in the other events; fulcrum plan shows all faults.", BlocksNothing},
	{NameTaken, "A resource of that name exists and has another owner.", "Choose another name, or remove the other resource.", BlocksStack},
	{NamespaceNotAllowed, "The class does not admit Ingresses of this namespace.", "Use another class, or label the namespace as the class requires.", BlocksMember},
	{NetworkingInvalid, "A networking rule of a TargetGroupBinding cannot be turned into security group rules.", "Correct the peer or the port that the message names.", BlocksNothing},
	{NodeUnusable, "A node is not an EC2 instance, so it cannot be an instance target; it is not registered.", "Exclude the node by label, or use target type ip.", BlocksNothing},
	{NotServed, "An object is probably intended for this controller, which does not serve it: the controller of its class, its loadBalancerClass or its aws-load-balancer-type is similar to a supported name, or an Ingress with annotations for this controller has no class.", "Correct the name as described in the message. If another controller serves the object, nothing has to be done.", BlocksNothing},
	{ParametersInvalid, "The LoadBalancerConfiguration or TargetGroupConfiguration that a Gateway, a route or a Service uses does not exist, or has a value that cannot be used. Existing resources in AWS stay unchanged.", "Correct the reference or the value that the message names.", BlocksMember},
	{PathInvalid, "A path has wildcards where its type does not allow them, or a path type is unknown.", "Use ImplementationSpecific for wildcards.", BlocksRule},
	{PlanTooLarge, "The plan does not fit into the annotations of the Ingress, which Kubernetes limits to 256 KiB in all.", "Read it with fulcrum plan -o json, or split the IngressGroup.", BlocksNothing},
	{PortOverrideInvalid, "Port overrides of an endpoint group conflict with each other, its listener or other listeners. The overrides in AWS stay unchanged.", "Correct the override that the message names.", BlocksNothing},
	{QuotaReached, "An AWS quota is reached.", "Ask AWS for a higher quota, or remove resources that are not needed.", BlocksNothing},
	{RedirectPortInvalid, "ssl-redirect names a port that is not an HTTPS listener of the IngressGroup. The Ingress is held, because otherwise its rules would be served without TLS.", "Add the HTTPS port to listen-ports, or correct ssl-redirect.", BlocksMember},
	{ReferenceNotPermitted, "A route refers to a backend of another namespace, and no ReferenceGrant there permits it. The backend gets no requests.", "Create a ReferenceGrant in the namespace of the backend.", BlocksNothing},
	{RejectedByAWS, "AWS rejects a value. The message has the setting, the value, the reason of AWS, and the state that is served meanwhile.", "Change the value.", BlocksNothing},
	{RemovalNotTrusted, "Resources that serve traffic would be removed although no user has deleted their objects: the class of three or more unedited Ingresses names another controller at once, flags of the controller exclude an unedited Service, all endpoints or nodes are missing, the CustomResourceDefinition of GlobalAccelerators is deleted, or a TargetGroupBinding is deleted while requests are sent to its target group. The resources stay.", "Restore the missing objects or settings; if the removal is intended, confirm it as described in the message.", BlocksMember},
	{ReplacedWithGap, "A load balancer has to be replaced, and the previous and the new one cannot exist at the same time, because both would need the same name, address or target group. The previous one is deleted first.", "To avoid the interruption, also change or remove the setting that the message names, in the same edit as the setting that needs the replacement.", BlocksNothing},
	{ReplacementHeld, "A change of a setting requires the replacement of the load balancer, but the load balancer has deletion protection, or the new one cannot be created. The load balancer keeps its setting; other changes are carried out.", "Remove the obstacle that the message names, or restore the previous value.", BlocksNothing},
	{RouteFieldIgnored, "A field of a route has no effect, because load balancers have no such setting. The rule is served without it.", "Remove the field, or implement its effect in the backend.", BlocksNothing},
	{RouteFiltersIncompatible, "A rule names a ListenerRuleConfiguration that does not exist or cannot be used, or more than one. Requests for the rule are answered with 500.", "Name one ListenerRuleConfiguration of the namespace of the route.", BlocksRule},
	{RouteNotAdmitted, "An existing rule or port of a route is for a hostname, port or namespace that no listener of the Gateway admits any more. The controller stops forwarding to the route at once, even while the route cannot be read or is refused.", "Ask the owner of the Gateway to admit the route in allowedRoutes, or correct the hostnames of the route.", BlocksNothing},
	{RouteValueUnsupported, "A rule of a route has a filter, redirect code or match that an Application Load Balancer does not support. Requests for the rule are answered with 500; a rule whose match cannot be expressed is left out.", "Remove the filter or value that the message names, or implement it in the backend.", BlocksRule},
	{RuleTooLarge, "A rule has more or longer condition values, or more wildcards, than AWS accepts.", "Split the rule, or shorten its values.", BlocksRule},
	{RuleUnreachable, "Rules that are evaluated first, of other members or of the same object, match every request that this rule matches. Redirects of the same object are assumed to be intended and are not reported.", "Change the conditions of one of them, remove one, or set group.order.", BlocksNothing},
	{RulesRevoked, "Other users or controllers have added rules to a security group that the controller owns. The controller removes these rules.", "Set inbound-cidrs or security-group-prefix-lists, or use your own security groups for the load balancer.", BlocksNothing},
	{SchemeKept, "No object sets the scheme, and the scheme of the load balancer in AWS is not the default; it stays, because a change would replace the load balancer. A load balancer that is created for a Service which moves from another load balancer gets the scheme of that load balancer.", "Set the scheme annotation.", BlocksNothing},
	{SecretInvalid, "A Secret lacks a required key or label, or its name is not valid for a Secret.", "Add the key or label, or correct the name.", BlocksRule},
	{SecretNotFound, "A Secret does not exist, or the controller may not read it; the message does not reveal which.", "Create the Secret in the namespace of the object that names it, or permit the service account of the controller to get, list and watch it, with the Role and the RoleBinding in the message.", BlocksRule},
	{SecurityGroupNotFound, "A security group given by id or name does not exist in the VPC.", "Correct the id or name.", BlocksStack},
	{SelectorMatchesNoPod, "The selector of a Service behind a load balancer matches no pod that has an address. It is reported if the Service never had such a pod and has had none for a minute, or if pods that the Service selected before still run; a Service whose pods were scaled to zero is not reported.", "Correct spec.selector, or start pods with the labels of the selector.", BlocksNothing},
	{ServerIDMissing, "A pod of a QUIC target group has no QUIC server id, which AWS needs to route connections to it; it is not registered.", "Name its containers in the annotation service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers; ids are injected when pods are created.", BlocksNothing},
	{ServiceTooLarge, "A Service has more ports than the controller permits, or more client ranges, attributes or certificates than AWS accepts. Its load balancer stays unchanged.", "Split the Service, or reduce the number that the message names.", BlocksMember},
	{ServiceUnavailable, "An AWS service that a setting needs does not answer, or the account has not subscribed to it.", "Check the service in the account and region, or remove the setting.", BlocksNothing},
	{ServiceWithoutEndpoints, "No pod of a Service behind a load balancer has been ready for five minutes, or the Service has neither a selector nor EndpointSlices with addresses.", "Look at the pods and their readiness probes.", BlocksNothing},
	{SettingFixed, "A setting that AWS accepts only when a load balancer is created differs from the load balancer in AWS; it has no effect.", "Restore the previous value, or create a new load balancer in another IngressGroup.", BlocksNothing},
	{SettingOfClass, "In isolated tenancy only the IngressClass sets the load-balancer-wide settings of an IngressGroup; the annotation has no effect.", "Remove the annotation, or ask the owner of the IngressClassParams to set it there.", BlocksNothing},
	{SharedListenerNotFound, "A GlobalAccelerator has endpoint groups under an accelerator of another owner, and one of its listeners has a protocol and ports that no listener of the accelerator has. No endpoint group is created for this listener, and no existing endpoint group is deleted.", "Ask the owner to add the listener, or use the protocol and ports of a listener of the accelerator.", BlocksNothing},
	{SpecInvalid, "A field of a GlobalAccelerator has a value that AWS does not accept, or has no value. The listener or setting of the field stays unchanged in AWS.", "Correct the field as described in the message.", BlocksNothing},
	{SubnetsNotFound, "No subnet has the tags that the load balancer needs, or a subnet given by id or name does not exist.", "Tag subnets with kubernetes.io/role/elb (internet-facing) or kubernetes.io/role/internal-elb (internal), or name existing subnets.", BlocksStack},
	{SubnetsUnsuitable, "The load balancer cannot be created in the subnets that were set or found.", "Choose subnets in different zones with enough free addresses.", BlocksStack},
	{TLSNotServed, "spec.tls of an Ingress names Secrets or hosts, but the Ingress gets no HTTPS port: TLS Secrets are not imported, no certificate is set, and listen-ports is not set. The Ingress is served only over HTTP.", "Set a certificate in certificate-arn, set listen-ports so that certificates in ACM are found by host, or start the controller with --import-tls-secrets=ingress. To serve only HTTP, set listen-ports to [{\"HTTP\": 80}] or remove spec.tls.", BlocksNothing},
	{TagInvalid, "A tag is longer than AWS allows or uses a reserved prefix, or there are more tags than AWS allows.", "Correct the tag, or use fewer.", BlocksNothing},
	{TagReserved, "A tag key is managed by the controller or by another owner.", "Remove the tag.", BlocksNothing},
	{TargetGroupDiffers, "A field of a TargetGroupBinding contradicts its target group in AWS. The targets stay unchanged; a wrong protocol is only reported.", "Set the field to the value of the target group, or remove it.", BlocksStack},
	{TargetGroupNotFound, "A target group given by name or ARN does not exist.", "Correct the name, or create the target group.", BlocksRule},
	{TargetGroupNotOwned, "An action names a target group that was created for an object of another namespace. The rule, or the listener of a Service, is held.", "Forward to a Service of the namespace, or to a target group that no other object owns.", BlocksRule},
	{TargetGroupShared, "Another TargetGroupBinding registers targets in the same target group, or the target group was created for an object of another namespace. This binding registers no targets: a binding in the namespace of the target group has precedence, otherwise the older one.", "Delete the other binding, or give each a target group of its own.", BlocksStack},
	{TargetPortNotFound, "The targetPort of a Service behind a load balancer is a name that no container port of its pods has.", "Correct the name in the Service or in the pods.", BlocksNothing},
	{TargetsCapped, "A target group has the maximum number of targets that the operator allows; further endpoints are not registered.", "Raise --max-targets-per-target-group, or run fewer pods.", BlocksNothing},
	{TargetsConfiguredTwice, "Two TargetGroupConfigurations refer to the same Service. The older one is used.", "Delete one of them.", BlocksNothing},
	{TrustStoreNotFound, "A trust store given by name does not exist.", "Correct the name, or create the trust store.", BlocksListener},
	{Unsupported, "The configuration is valid, but this version of the controller does not support it yet.", "Remove the setting.", BlocksRule},
	{WaitExpired, "A change waited for a condition that was not met before the deadline; the change was then carried out.", "Check the pods and the health check, or the resource that the message names.", BlocksNothing},
	{WaitingForTargets, "Traffic is sent to the old targets until the new targets are healthy, for at most the time in the message.", "Check the pods and the health check if the new targets do not become healthy.", BlocksNothing},
	{WaitingToDelete, "An Ingress that is deleted, or leaves its IngressGroup, waits until the targets of its target group have closed their connections.", "No action is needed. A lower deregistration_delay.timeout_seconds in target-group-attributes makes the next change faster.", BlocksNothing},
	{WebACLNotFound, "A web ACL given by name or ARN does not exist. A new load balancer is not created, or not opened to traffic, without it; an existing load balancer keeps its current association.", "Correct the name or ARN, or create the web ACL.", BlocksStack},
	{WriteUndone, "Another client changes an object in Kubernetes back after each write of the controller. The write is repeated with exponential back-off, at most ten times a minute for an object and later every 15 minutes. The message names the field, and the client by its name in `metadata.managedFields`.", "Configure the client so that it does not change the field.", BlocksNothing},
}
