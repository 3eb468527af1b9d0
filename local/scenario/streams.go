package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/echo"
)

// datagramTimeout is how long SendDatagram waits for a reply. It is long because replies are late on a busy machine.
const datagramTimeout = 15 * time.Second

// ServiceHostname returns the DNS name of the load balancer in a Service's status, or an error if there is none.
func (s *Scenario) ServiceHostname(ctx context.Context, namespace, service string) (string, error) {
	got, err := s.World.KubeClient().CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, lb := range got.Status.LoadBalancer.Ingress {
		if lb.Hostname != "" {
			return lb.Hostname, nil
		}
	}
	return "", fmt.Errorf("service %s/%s has no load balancer in its status", namespace, service)
}

// SendDatagram sends a datagram and returns the reply of the pod, with Status 200. It skips replies to datagrams with
// another text. It waits until datagramTimeout has passed or ctx ends.
func SendDatagram(ctx context.Context, conn net.Conn, text string) (Reply, error) {
	stop := setReadTimeout(ctx, conn)
	defer stop()
	if _, err := io.WriteString(conn, text); err != nil {
		return Reply{}, err
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return Reply{}, err
		}
		var a echo.Response
		if err := json.Unmarshal(buf[:n], &a); err != nil {
			return Reply{}, errors.Join(errors.New("parse the reply to a datagram"), err)
		}
		if a.Body == text {
			return Reply{Status: http.StatusOK, Body: string(buf[:n]), Pod: &a}, nil
		}
	}
}

// setReadTimeout makes reads of a connection fail after datagramTimeout, or when ctx ends. The returned function ends the
// effect of ctx.
func setReadTimeout(ctx context.Context, conn net.Conn) (stop func() bool) {
	conn.SetReadDeadline(time.Now().Add(datagramTimeout))
	return context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
}

// PersistentConn sends HTTP requests one after another on one connection. Unlike http.Client, it returns an error
// when the connection is closed.
type PersistentConn struct {
	conn   net.Conn
	reader *bufio.Reader
}

// NewPersistentConn returns a PersistentConn for a connection.
func NewPersistentConn(conn net.Conn) *PersistentConn {
	return &PersistentConn{conn, bufio.NewReader(conn)}
}

// Close ends the connection.
func (k *PersistentConn) Close() error { return k.conn.Close() }

// Get sends a GET request and returns the response. After an error, the connection cannot be used. The timeout is 30
// seconds.
func (k *PersistentConn) Get(url string) (Reply, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return Reply{}, err
	}
	k.conn.SetDeadline(time.Now().Add(30 * time.Second))
	if err := req.Write(k.conn); err != nil {
		return Reply{}, err
	}
	res, err := http.ReadResponse(k.reader, req)
	if err != nil {
		return Reply{}, err
	}
	return replyOf(res)
}
