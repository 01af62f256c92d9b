package main

import "context"

// tellingListener reports the connections that it hands on, and keeps those that have to be closed when the server stops.
type tellingListener struct {
	quicListener
	live *liveConnections
}

// Accept implements quicListener.
func (l tellingListener) Accept(ctx context.Context) (quicConn, error) {
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
