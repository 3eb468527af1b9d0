package finding

// Reason is a stable code of a finding, which tools and people can match. Each has a row in Reasons.
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

// Explanation documents one reason. The findings page of the documentation is generated from it.
type Explanation struct {
	Reason  Reason
	Means   string
	WayOut  string
	Reaches Reach // the usual reach
}

// Reasons lists every reason with its meaning, in alphabetical order.
var Reasons = []Explanation{
	{AcceleratorNotOwned, "The status of a GlobalAccelerator names an accelerator that does not carry the tags of the object. Nothing of it is changed.", "See who writes the status of the object; the field is corrected.", BlocksNothing},
	{AcceleratorNotShared, "A GlobalAccelerator names an accelerator of another owner that does not let it have endpoint groups of the region of its cluster. What the accelerator has stays unchanged.", "Have the owner name the GlobalAccelerator in fulcrum.dev/accelerator-guests, or in a tag of the accelerator.", BlocksNothing},
	{AcceleratorRecreated, "The accelerator of a GlobalAccelerator is gone from AWS. A new one has other addresses.", "Change what names the old addresses.", BlocksNothing},
	{AcceleratorSettingKept, "A setting of an accelerator is not changed, because that cannot be undone or is not supported.", "See the message.", BlocksNothing},
	{AccessDenied, "AWS denies a call because a permission is missing, or a command may not read a Secret that the controller reads with its own rights. What depends on it stays unchanged in AWS.", "Add the named permission to the controller's IAM policy. For a Secret that was not looked at, allow yourself to get it, or give it with -f.", BlocksNothing},
	{ActionNotFound, "A backend has the port use-annotation, but the actions annotation of that name does not exist, and missing actions are not tolerated.", "Add the annotation or change the backend.", BlocksRule},
	{AdoptionDiffers, "A Gateway with fulcrum.dev/adopt would answer requests or have settings otherwise than the objects whose load balancer it is to take over.", "See the message; fulcrum migrate --check shows all differences. Change the routes, or have each object consent by fulcrum.dev/adopted-by.", BlocksNothing},
	{AdoptionReady, "A Gateway in dry run could take over the load balancer that it names in fulcrum.dev/adopt, and nothing is in the way.", "Remove annotation gateway.k8s.aws/dry-run from the Gateway to start.", BlocksNothing},
	{AdoptionRefused, "A Gateway names in fulcrum.dev/adopt whose load balancer it takes over, and something is in the way. Nothing is changed, and no other load balancer is made for the Gateway.", "See the message. Remove the annotation for a load balancer of its own.", BlocksStack},
	{AllWeightsZero, "All backends of a forward have weight 0, so that none gets requests: they are answered with an error, or a port of a network load balancer is not listened on.", "Give a backend a weight above 0.", BlocksNothing},
	{AnnotationConflict, "Members of an IngressGroup give different values for a load-balancer-wide setting. The value in AWS stays while a class or an accepted member sets it; otherwise the first member in the order of the IngressGroup decides. Of a load balancer that Services of several namespaces share, the namespace that it is named after decides.", "Give all members the same value, or remove it from all but one.", BlocksNothing},
	{AnnotationInvalid, "An annotation, class parameter or selector does not have the expected form.", "Write the value in the form that the message shows.", BlocksMember},
	{BackendKindUnknown, "A backend of a route is of a kind that load balancers cannot forward to. It gets no requests.", "Name a Service, or a TargetGroupName.", BlocksNothing},
	{BackendNotFound, "A backend names a Service that does not exist. Requests for its rule are answered with 503; with --tolerate-non-existent-backend-service=false a live rule stays unchanged.", "Create the Service or correct its name.", BlocksRule},
	{BackendPortNotFound, "A backend names a port that its Service does not have.", "Use a port number or port name of the Service.", BlocksRule},
	{BackendTypeUnsupported, "Instance targets need a Service of type NodePort or LoadBalancer.", "Change the Service's type, or use target type ip.", BlocksRule},
	{BackendUnsupported, "A backend is something other than a Service.", "Use a Service backend or an action annotation.", BlocksRule},
	{CallFailed, "A call to AWS or to Kubernetes failed for a reason that may be temporary; it is tried again.", "Wait; if the error persists, check what the message names.", BlocksNothing},
	{CertificateInvalid, "The certificate in a TLS Secret cannot be imported into ACM: it does not belong to the key, is not valid now, or is not one that load balancers accept. The certificate that was imported last stays.", "Correct the Secret as the message says.", BlocksNothing},
	{CertificateMissing, "A listener serves TLS, but no certificate is set and no rule has a host by which to find one.", "Set certificate-arn, or give the rules hosts.", BlocksMember},
	{CertificateNotFound, "A certificate does not exist, or no issued certificate covers a host.", "Request or import the certificate in ACM, or correct certificate-arn.", BlocksMember},
	{CertificateNotOwned, "A listener has a certificate that was imported from a TLS Secret for another load balancer. One of a Secret of another namespace is taken away.", "Name a Secret of the namespace, or a certificate by its ARN, or request one in ACM for the host.", BlocksNothing},
	{CertificatePending, "A requested certificate is not issued yet, and something prevents it.", "Create the DNS records that the message names, or give the controller the right to make them in Route 53.", BlocksNothing},
	{ChangeNotKept, "AWS returns another value than the one that was written, again after several writes, or others change it back each time. The message has the desired value and the one that AWS returns. The change is repeated with exponential back-off, at last every 15 minutes; everything else goes on.", "Look in CloudTrail for who changes it. If nobody does, change the value to one that AWS keeps.", BlocksNothing},
	{ChangedTooOften, "On a GlobalAccelerator: the desired state changes again and again: the object is edited all the time, or an object or ReferenceGrant that it refers to is. The first four changes are made at once, further ones wait for 10, 20, 40 and at last 60 s, and are made with what is asked for then. After a pause of 15 s and twice the last wait, four are made at once again. A ReferenceGrant that is withdrawn has its effect at once. On a TargetGroupBinding: the same targets were registered and deregistered again and again. After three returns within 15 s of each other, those targets wait for 5, 10, 20 and at last 30 s, and all that came back change together then. Until then those whose pods can serve stay. A target that cannot serve leaves at once, and one of a new pod comes at once. Where no other target can serve, the wait is 5 s.", "Find out what edits the object, or an object that it refers to, all the time; for a TargetGroupBinding, what edits the Service, its EndpointSlices or the labels of pods, or why pods are ready and unready by turns.", BlocksNothing},
	{ClientIPUnsupported, "A load balancer cannot have the client IP preservation that is asked for. It has the other.", "Change the field as the message says.", BlocksNothing},
	{DeletionProtected, "The load balancer would have to be deleted but is protected.", "Switch the protection off first.", BlocksStack},
	{DriftFound, "Others have changed something in AWS, and --drift=report leaves it. The message names what was changed, from what to what.", "Restore it in AWS, or edit the object, which carries the whole desired state out.", BlocksNothing},
	{DriftRepaired, "Others have changed something in AWS, and the controller restores it. The message names what was changed, from what to what.", "Edit the object to change it for good. CloudTrail shows who changed it.", BlocksNothing},
	{EndpointDoubled, "Two endpoints of an endpoint group are one load balancer, with different settings. Those of the first one hold.", "Give both the same settings, or remove one.", BlocksNothing},
	{EndpointElsewhere, "An endpoint is in another region than its endpoint group. The endpoint is left out.", "Move the endpoint to an endpoint group of its region.", BlocksNothing},
	{EndpointGroupUnclear, "The ENI of a node or pod, or the security group of that ENI that has to carry rules, cannot be determined.", "Tag exactly one security group of the ENI kubernetes.io/cluster/<cluster name>.", BlocksNothing},
	{EndpointIgnored, "An EndpointSlice names an address that is not one of a pod of its namespace, or that a newer pod has; it is not registered.", "Check who writes the EndpointSlices of the Service.", BlocksNothing},
	{EndpointMissing, "A pod has the readiness gate of a TargetGroupBinding but is not one of its endpoints, so its gate stays closed.", "Check the selector and the address family of the Service, and the node of the pod.", BlocksNothing},
	{EndpointNotFound, "An endpoint of a GlobalAccelerator names something that does not exist, is being deleted, or has no load balancer that may be an endpoint. The endpoint is left out.", "Create it, or remove the endpoint.", BlocksNothing},
	{EndpointNotReady, "An endpoint of a GlobalAccelerator names an object whose load balancer is not there yet. The endpoint is added when it is.", "See the events of that object.", BlocksNothing},
	{FeatureDisabled, "A setting needs a feature gate or flag that is off.", "Ask the operator to switch it on, or remove the setting.", BlocksRule},
	{GatewayClassInvalid, "The GatewayClass of a Gateway does not exist, or the configuration that it names does not. What exists in AWS stays.", "Create the class or its LoadBalancerConfiguration, or correct the reference.", BlocksMember},
	{GatewayFieldIgnored, "A field of a Gateway has no effect. The Gateway is served without it.", "Remove the field, or do the same in a LoadBalancerConfiguration as the message says.", BlocksNothing},
	{GatewayTooLarge, "The routes of one namespace ask for more rules than the operator allows on one Gateway. The live rules of the route stay, and no new ones are made.", "Use fewer matches and hostnames, or several Gateways.", BlocksMember},
	{GroupNameInvalid, "The name of an IngressGroup has characters other than lower-case letters, digits, dots and hyphens, or is longer than 63 characters.", "Choose a valid name.", BlocksMember},
	{GroupOrderInvalid, "group.order is not a whole number from -1000 to 1000.", "Correct the number.", BlocksMember},
	{HeldForGuest, "An accelerator, a listener or an endpoint group of it stays unchanged, because the endpoint group of a region is that of another cluster, which the message names.", "Have that cluster remove its endpoint group, or withdraw its right to it.", BlocksNothing},
	{HeldRuleLeftOut, "A rule cannot be created as its object specifies, and a valid rule of the listener has the same conditions; the valid rule serves the requests.", "Correct the rule as its other finding describes, or remove it.", BlocksRule},
	{HostNotOwned, "In isolated tenancy a host belongs to the namespace whose Ingress used it first, and this rule is of another namespace. It is held.", "Use another host, or another IngressGroup.", BlocksRule},
	{HostedZoneNotFound, "A certificate is to be requested for a host for which the account has no public hosted zone, so that it could not be validated.", "Create the hosted zone, or import a certificate and name it in certificate-arn.", BlocksMember},
	{ImportsDisabled, "A certificate was imported from a TLS Secret that the object names, and --import-tls-secrets does not have this kind of object any more. What was imported serves on and is not renewed.", "Restore the flag, or remove the reference to the Secret.", BlocksNothing},
	{ImportsLimited, "A TLS Secret changes so often, or a namespace has so many imports, that a certificate is not imported into ACM yet, as the account has a quota of imports. The certificate that was imported last stays, and is replaced before it ends unless the share of the year is spent.", "Find out which Secrets change or are added all the time; the certificate is imported at the time that the message names.", BlocksNothing},
	{IngressClassInvalid, "The IngressClass or its parameters do not exist or do not fit.", "Create or correct the class.", BlocksMember},
	{IngressTooLarge, "An Ingress specifies more listeners or rules than the operator allows one namespace in an IngressGroup, or more target groups of others or client ranges than AWS accepts.", "Name fewer ports or paths, or split the Ingress over several IngressGroups.", BlocksMember},
	{ListenerConflict, "Members of an IngressGroup, ports of a Service, or Services that share a load balancer need different settings of one port. The settings in AWS stay while a member specifies them; otherwise the first one decides.", "Use the same protocol and settings, or another port.", BlocksMember},
	{LoadBalancerAdopted, "A Gateway has taken over the load balancer of an Ingress or a Service, by fulcrum.dev/adopt; this is reported of both. The Ingress or Service goes on to show its name, and edits of it have no effect.", "Edit the routes of the Gateway. Delete the object once the Gateway serves what it is to, and remove fulcrum.dev/adopt then. To get the load balancer back, annotate the Gateway with gateway.k8s.aws/dry-run: \"true\" before.", BlocksNothing},
	{LoadBalancerDoubled, "Two load balancers carry the tags of one stack; one is used and the other is not changed.", "Delete the other one, or remove the controller's tags from it.", BlocksNothing},
	{LoadBalancerMoved, "A Service moves to or from a load balancer that it shares. The status shows the other one when that serves the Service as well; the former one serves on for --replacement-deletion-delay. Events say when the move is complete, until when the former one serves, and that the Service has left it.", "Nothing. To stay, restore the annotation fulcrum.dev/load-balancer-group; a port that another Service has on the shared load balancer must be changed first.", BlocksNothing},
	{LoadBalancerReplaced, "A new load balancer takes the place of the live one, because AWS cannot change what is asked for. The status shows the new one when it serves as the old one does; the old one is deleted after --replacement-deletion-delay.", "Nothing. To go back, restore the former value; until the old load balancer is deleted it is taken again.", BlocksNothing},
	{LoadBalancerReturned, "A load balancer that a Gateway had taken over, by fulcrum.dev/adopt, goes back to the Ingresses or the Service.", "Wait. If the message says that they cannot be built, correct them, delete them, or let the Gateway keep the load balancer.", BlocksNothing},
	{MoreFindings, "An object has more faults than events are written for.", "Correct the faults in the other events; fulcrum plan shows all of them.", BlocksNothing},
	{NameTaken, "A resource of that name exists and has another owner.", "Choose another name, or remove the other resource.", BlocksStack},
	{NamespaceNotAllowed, "The class does not admit Ingresses of this namespace.", "Use another class, or label the namespace as the class requires.", BlocksMember},
	{NetworkingInvalid, "A networking rule of a TargetGroupBinding cannot be turned into security group rules.", "Correct the peer or the port that the message names.", BlocksNothing},
	{NodeUnusable, "A node is not an EC2 instance, so it cannot be an instance target; it is not registered.", "Exclude the node by label, or use target type ip.", BlocksNothing},
	{NotServed, "An object was probably meant for this controller, which does not serve it: the controller of its class, its loadBalancerClass or its aws-load-balancer-type is nearly one that is served, or an Ingress with annotations for this controller has no class.", "Correct the name as the message says. Nothing is to be done where another controller is meant to serve the object.", BlocksNothing},
	{ParametersInvalid, "The LoadBalancerConfiguration or TargetGroupConfiguration that a Gateway, a route or a Service uses does not exist, or has a value that cannot be used. What exists in AWS stays.", "Correct the reference or the value that the message names.", BlocksMember},
	{PathInvalid, "A path has wildcards where its type does not allow them, or a path type is unknown.", "Use ImplementationSpecific for wildcards.", BlocksRule},
	{PlanTooLarge, "The plan does not fit into the annotations of the Ingress, which Kubernetes limits to 256 KiB in all.", "Read it with fulcrum plan -o json, or split the IngressGroup.", BlocksNothing},
	{PortOverrideInvalid, "Port overrides of an endpoint group contradict each other, its listener or other listeners. Those in AWS stay.", "Correct the override that the message names.", BlocksNothing},
	{QuotaReached, "An AWS quota is reached.", "Ask AWS for a higher quota, or remove what is not needed.", BlocksNothing},
	{RedirectPortInvalid, "ssl-redirect names a port that is not an HTTPS listener of the IngressGroup. The Ingress is held, because its rules must not be served without TLS instead.", "Add the HTTPS port to listen-ports, or correct ssl-redirect.", BlocksMember},
	{ReferenceNotPermitted, "A route refers to a backend of another namespace, and no ReferenceGrant there permits it. The backend gets no requests.", "Create a ReferenceGrant in the namespace of the backend.", BlocksNothing},
	{RejectedByAWS, "AWS rejects a value. The message names the setting, the value, AWS's reason and what is served meanwhile.", "Change the value.", BlocksNothing},
	{RemovalNotTrusted, "What serves traffic would be removed without a deletion by a user: three or more Ingresses that were not edited get another controller at once, flags of the controller exclude a Service that was not edited, endpoints or nodes are missing as a whole, the definition of GlobalAccelerators is deleted, or a TargetGroupBinding is deleted while requests are sent to its target group. What serves traffic stays.", "Restore what is missing; the message says how to confirm the removal if it is intended.", BlocksMember},
	{ReplacedWithGap, "A load balancer has to be replaced, and two cannot be there at a time, because both would need the same name, address or target group. The old one is deleted first.", "To replace without a gap, change or remove in the same edit what the message names.", BlocksNothing},
	{ReplacementHeld, "A load balancer would have to be replaced to become what is asked for, and it is protected from deletion, or the new one cannot be made. It serves on with its scheme; other changes are carried out.", "Remove what the message names, or restore the former value.", BlocksNothing},
	{RouteFieldIgnored, "A field of a route has no effect, because a load balancer has nothing like it. The rule is served without it.", "Remove the field, or do the same in the backend.", BlocksNothing},
	{RouteFiltersIncompatible, "A rule names a ListenerRuleConfiguration that does not exist or cannot be used, or more than one. Requests for the rule are answered 500.", "Name one ListenerRuleConfiguration of the namespace of the route.", BlocksRule},
	{RouteNotAdmitted, "A live rule or port of a route is for a hostname, port or namespace that no listener of the Gateway admits any more. It is deleted at once, also while the route cannot be read or is refused.", "Ask the owner of the Gateway for allowedRoutes, or correct the hostnames of the route.", BlocksNothing},
	{RouteValueUnsupported, "A rule of a route asks for something that an Application Load Balancer cannot do, such as a filter, a redirect code or a match. Requests for the rule are answered 500; a rule whose match cannot be expressed is left out.", "Remove the filter or value that the message names, or do it in the backend.", BlocksRule},
	{RuleTooLarge, "A rule has more condition values or wildcards, or longer ones, than AWS accepts.", "Split the rule, or shorten its values.", BlocksRule},
	{RuleUnreachable, "Rules that come first, of other members or of the same object, answer every request that this rule matches. A redirect of the same object is taken as intended and not reported.", "Change the conditions of one of them, remove one, or set group.order.", BlocksNothing},
	{RulesRevoked, "A security group that the controller owns has rules that were added by others; they are removed.", "Set inbound-cidrs or security-group-prefix-lists, or give the load balancer security groups of your own.", BlocksNothing},
	{SchemeKept, "No object sets the scheme, and the load balancer in AWS has another one than the default; it keeps its scheme, because a change would replace the load balancer. One that is made for a Service which comes from another load balancer gets the scheme of that.", "Set the scheme annotation.", BlocksNothing},
	{SecretInvalid, "A Secret lacks a required key or label, or its name is not valid for a Secret.", "Add the key or label, or correct the name.", BlocksRule},
	{SecretNotFound, "A Secret does not exist, or the controller may not read it; which of the two is not said.", "Create the Secret in the namespace of the object that names it, or give the service account of the controller get, list and watch of it by a Role and a RoleBinding, as the message shows.", BlocksRule},
	{SecurityGroupNotFound, "A security group given by id or name does not exist in the VPC.", "Correct the id or name.", BlocksStack},
	{SelectorMatchesNoPod, "The selector of a Service behind a load balancer matches no pod that has an address. It is reported where the Service never had one for a minute, or where pods still run that it selected before; a Service whose pods were scaled to zero is not reported.", "Correct spec.selector, or start pods with these labels.", BlocksNothing},
	{ServerIDMissing, "A pod of a QUIC target group has no QUIC server id, by which connections would find it; it is not registered.", "Name its containers in the annotation service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers; ids are injected when pods are made.", BlocksNothing},
	{ServiceTooLarge, "A Service has more ports than one Service may have, or more client ranges or attributes than AWS accepts. Its load balancer stays unchanged.", "Use several Services, or name fewer ranges.", BlocksMember},
	{ServiceUnavailable, "Another service of AWS that a setting needs gives no answer, or the account has not subscribed to it.", "Check the service in the account and region, or remove the setting.", BlocksNothing},
	{ServiceWithoutEndpoints, "No pod of a Service behind a load balancer has been ready for five minutes, or the Service has neither a selector nor EndpointSlices with addresses.", "Look at the pods and their readiness probes.", BlocksNothing},
	{SettingFixed, "A setting that AWS accepts only when a load balancer is created differs from the load balancer in AWS; it has no effect.", "Restore the former value, or create a new load balancer in another IngressGroup.", BlocksNothing},
	{SettingOfClass, "In isolated tenancy one IngressClass alone sets the load-balancer-wide settings of an IngressGroup; the annotation has no effect.", "Remove the annotation, or ask the owner of the IngressClassParams to set it there.", BlocksNothing},
	{SharedListenerNotFound, "A GlobalAccelerator has endpoint groups under an accelerator of another owner, and that has no listener with the protocol and ports of one of its listeners. Nothing is made for that listener, and no live endpoint group is deleted.", "Have the owner add the listener, or give the listener protocol and ports that the accelerator has.", BlocksNothing},
	{SpecInvalid, "A field of a GlobalAccelerator has a value that AWS does not take, or lacks one. The listener or setting that it belongs to stays unchanged in AWS.", "Correct the field as the message says.", BlocksNothing},
	{SubnetsNotFound, "No subnet fits, or a subnet given by id or name does not exist.", "Tag subnets for load balancers, or name existing subnets.", BlocksStack},
	{SubnetsUnsuitable, "The subnets that were given or found cannot carry the load balancer.", "Choose subnets in different zones with enough free addresses.", BlocksStack},
	{TLSNotServed, "spec.tls of an Ingress names Secrets or hosts, and no HTTPS port comes of it: TLS Secrets are not imported, no certificate is named, and listen-ports is not set. It is served over HTTP alone.", "Name a certificate in certificate-arn, set listen-ports to have certificates in ACM found by host, or start the controller with --import-tls-secrets=ingress. To serve HTTP alone on purpose, set listen-ports to [{\"HTTP\": 80}] or remove spec.tls.", BlocksNothing},
	{TagInvalid, "A tag is longer than AWS allows or uses a reserved prefix, or there are more tags than AWS has room for.", "Correct the tag, or use fewer.", BlocksNothing},
	{TagReserved, "A tag key is managed by the controller or by another owner.", "Remove the tag.", BlocksNothing},
	{TargetGroupDiffers, "A field of a TargetGroupBinding contradicts its target group in AWS. The targets stay unchanged; a wrong protocol is only reported.", "Make the field equal to the target group, or leave it out.", BlocksStack},
	{TargetGroupNotFound, "A target group given by name or ARN does not exist.", "Correct the name, or create the target group.", BlocksRule},
	{TargetGroupNotOwned, "An action names a target group that was made for an object of another namespace. The rule, or the listener of a Service, is held.", "Forward to a Service of the namespace, or to a target group that no other object owns.", BlocksRule},
	{TargetGroupShared, "Another TargetGroupBinding fills the same target group, or the target group was created for an object of another namespace. The binding of that namespace is served, otherwise the older one.", "Delete the other binding, or give each a target group of its own.", BlocksStack},
	{TargetPortNotFound, "The targetPort of a Service behind a load balancer is a name that no container port of its pods has.", "Correct the name in the Service or in the pods.", BlocksNothing},
	{TargetsCapped, "A target group has as many targets as the operator allows; the other endpoints are not registered.", "Raise --max-targets-per-target-group, or run fewer pods.", BlocksNothing},
	{TargetsConfiguredTwice, "Two TargetGroupConfigurations are about one Service. The older one counts.", "Delete one of them.", BlocksNothing},
	{TrustStoreNotFound, "A trust store given by name does not exist.", "Correct the name, or create the trust store.", BlocksListener},
	{Unsupported, "The configuration is valid but this version cannot build it yet.", "Remove the setting.", BlocksRule},
	{WaitExpired, "What a change waited for did not happen before its deadline; the change was made without it.", "Check the pods and the health check, or what else the message names.", BlocksNothing},
	{WaitingForTargets, "Traffic stays where it is until the new targets are healthy.", "Check the pods and the health check if this does not pass.", BlocksNothing},
	{WaitingToDelete, "An Ingress that is deleted, or leaves its IngressGroup, waits until the targets of its target group have closed their connections.", "Nothing. A lower deregistration_delay.timeout_seconds in target-group-attributes makes it quicker the next time.", BlocksNothing},
	{WebACLNotFound, "A web ACL given by name or ARN does not exist. A new load balancer is not made, or not opened to traffic, without it; an existing one keeps what it has.", "Correct the name or ARN, or create the web ACL.", BlocksStack},
	{WriteUndone, "Another client changes an object in Kubernetes back after each write of the controller. The write is repeated with exponential back-off, at most ten times a minute for an object and at last every 15 minutes. The message names the field, and the client as `metadata.managedFields` has it.", "Have the client leave the field alone.", BlocksNothing},
}
