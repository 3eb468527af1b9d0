package echo

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"
)

func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// handleWebSocket accepts a WebSocket, sends Answer a as its first message, and then returns every message to the client.
func (s *Server) handleWebSocket(w http.ResponseWriter, r *http.Request, a Response) {
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	c, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has already sent an error response.
	}
	raw := c.NetConn()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		c.Close()
		return
	}
	s.rawConns[raw] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.rawConns, raw)
		s.mu.Unlock()
		c.Close()
	}()
	b, err := json.Marshal(a)
	if err != nil || c.WriteMessage(websocket.TextMessage, b) != nil {
		return
	}
	for {
		kind, message, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// localPort returns the port that received the request.
func localPort(r *http.Request) int {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}
