package main

import "context"

// reportingListener reports the connections that it accepts, and keeps those that must be closed when the server stops.
type reportingListener struct {
	quicListener
	live *liveConnections
}

// Accept implements quicListener.
func (l reportingListener) Accept(ctx context.Context) (quicConn, error) {
	conn, err := l.quicListener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	l.live.add(conn)
	go func() {
		<-conn.Context().Done()
		l.live.remove(conn)
	}()
	go reportAccepted(conn, protocolH3)
	return conn, nil
}
