package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// h3Connection is a client's HTTP/3 connection.
type h3Connection struct {
	*quicConnection
	http  *http3.RoundTripper
	early bool
}

func dialH3(ctx context.Context, d dialing) (connection, error) {
	d.security = d.security.Clone()
	d.security.NextProtos = []string{alpnH3}
	under, err := dialQUIC(ctx, d)
	if err != nil {
		return nil, err
	}
	once := make(chan quicConn, 1)
	once <- under.conn
	upper := &http3.RoundTripper{
		DisableCompression: true,
		Dial: func(string, string, *tls.Config, *quic.Config) (quicConn, error) {
			select {
			case conn := <-once:
				return conn, nil
			default:
				return nil, errors.New("the connection is lost")
			}
		},
	}
	return &h3Connection{under, upper, d.early}, nil
}

func (c *h3Connection) roundTrip(request *http.Request) (*http.Response, error) {
	if c.early { // does not wait for the handshake
		request.Method = http3.MethodGet0RTT
	}
	return c.http.RoundTrip(request)
}

// close closes with H3_NO_ERROR.
func (c *h3Connection) close() { c.quicConnection.close(0x100) }
