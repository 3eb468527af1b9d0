package gateway

import "github.com/fulcrum-lb/fulcrum/internal/model"

// applicationListener builds one port; false where no route is attached.
func (t *translation) applicationListener(p *port) (model.Listener, bool) {
	if len(p.routes) == 0 {
		return model.Listener{}, false
	}
	l := t.listener(p)
	l.Default = []model.Action{model.FixedResponse{Status: "404", ContentType: "text/plain"}}
	return l, true
}
