package targets

// Options are the operator's settings that the choice of endpoints depends on.
type Options struct {
	// FailOpen takes endpoints on nodes of unknown state if there are no others.
	FailOpen bool
	// Endpoints reads the Endpoints object of a Service instead of its EndpointSlices.
	Endpoints bool
	// QUICVariable is the environment variable of containers that holds their QUIC server id;
	// DefaultQUICVariable if empty.
	QUICVariable string
	// Nodes shares the nodes of a selector among bindings; nil: they are looked at for each.
	Nodes *NodeSets
}

// DefaultQUICVariable is the variable that pods get their QUIC server id in.
const DefaultQUICVariable = "AWS_LBC_QUIC_SERVER_ID"
