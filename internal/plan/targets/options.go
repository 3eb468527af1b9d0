package targets

// Options has the settings of the controller for the choice of endpoints.
type Options struct {
	// FailOpen registers endpoints on nodes whose Ready condition is Unknown if there are no other endpoints.
	FailOpen bool
	// UseEndpointsObjects reads the Endpoints object of a Service instead of its EndpointSlices.
	UseEndpointsObjects bool
	// QUICVariable is the name of the environment variable with the QUIC server ID of a container. If it is empty,
	// DefaultQUICVariable is used.
	QUICVariable string
	// NodeCache caches the nodes of each selector; nil means no cache.
	NodeCache *NodeSets
}

// DefaultQUICVariable is the default of Options.QUICVariable.
const DefaultQUICVariable = "AWS_LBC_QUIC_SERVER_ID"
