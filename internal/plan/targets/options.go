package targets

// Options has the settings of the controller for the choice of endpoints.
type Options struct {
	// FailOpen registers endpoints on nodes of unknown state if there are no others.
	FailOpen bool
	// UseEndpointsObjects reads the Endpoints object of a Service instead of its EndpointSlices.
	UseEndpointsObjects bool
	// QUICVariable is the environment variable of containers with their QUIC server id;
	// empty means DefaultQUICVariable.
	QUICVariable string
	// NodeCache caches the nodes of each selector; nil means no cache.
	NodeCache *NodeSets
}

// DefaultQUICVariable is the default environment variable of the QUIC server id.
const DefaultQUICVariable = "AWS_LBC_QUIC_SERVER_ID"
