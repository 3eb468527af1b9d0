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

// datagramWait is how long the answer to a datagram may take: on a busy machine some come seconds late. A lost one never
// comes, which a long wait does not hide.
const datagramWait = 15 * time.Second

// ServiceHostname is the name of the load balancer in a Service's status. It is an error
// that there is none.
func (s *Scenario) ServiceHostname(ctx context.Context, namespace, service string) (string, error) {
	got, err := s.World.Kube().CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
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

// Datagram sends a datagram and returns the pod that answered it. An answer to another
// one is skipped. The status is that of an HTTP request that went well.
func Datagram(ctx context.Context, conn net.Conn, text string) (Reply, error) {
	stop := expire(ctx, conn)
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
		var a echo.Answer
		if err := json.Unmarshal(buf[:n], &a); err != nil {
			return Reply{}, errors.Join(errors.New("read the answer to a datagram"), err)
		}
		if a.Body == text {
			return Reply{Status: http.StatusOK, Body: string(buf[:n]), Pod: &a}, nil
		}
	}
}

// expire ends the reads of a connection after datagramWait, or when ctx ends.
func expire(ctx context.Context, conn net.Conn) (stop func() bool) {
	conn.SetReadDeadline(time.Now().Add(datagramWait))
	return context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
}

// Kept is a connection on which one HTTP request follows another. Unlike an http.Client
// it does not hide that a connection has ended.
type Kept struct {
	conn net.Conn
	in   *bufio.Reader
}

// Keep makes the first request of a connection possible.
func Keep(conn net.Conn) *Kept { return &Kept{conn, bufio.NewReader(conn)} }

// Close ends the connection.
func (k *Kept) Close() error { return k.conn.Close() }

// Get sends a GET request. After an error the connection is of no use any more.
func (k *Kept) Get(url string) (Reply, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return Reply{}, err
	}
	k.conn.SetDeadline(time.Now().Add(30 * time.Second))
	if err := req.Write(k.conn); err != nil {
		return Reply{}, err
	}
	res, err := http.ReadResponse(k.in, req)
	if err != nil {
		return Reply{}, err
	}
	return replyOf(res)
}
