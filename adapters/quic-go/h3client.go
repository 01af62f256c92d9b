package main

import (
	"context"
	"net/http"

	"github.com/quic-go/quic-go/http3"
)

// h3Connection is a client's HTTP/3 connection.
type h3Connection struct {
	*quicConnection
	http  *http3.ClientConn
	early bool
}

func dialH3(ctx context.Context, d dialing) (connection, error) {
	under, err := dialQUIC(ctx, d)
	if err != nil {
		return nil, err
	}
	upper := &http3.Transport{DisableCompression: true, QUICConfig: d.settings.quic}
	return &h3Connection{under, upper.NewClientConn(under.conn), d.early}, nil
}

func (c *h3Connection) roundTrip(request *http.Request) (*http.Response, error) {
	if c.early { // does not wait for the handshake
		request.Method = http3.MethodGet0RTT
	}
	return c.http.RoundTrip(request)
}

func (c *h3Connection) close() {
	c.quicConnection.close(uint64(http3.ErrCodeNoError))
}
