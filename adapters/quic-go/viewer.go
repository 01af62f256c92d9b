package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	helloInterval = 200 * time.Millisecond
	framesPerLine = 500
	mostStreams   = 1 << 60
)

// carrierKnobs has the client's one knob of live media.
var carrierKnobs = map[string]knob{
	"carrier": {[]string{protocolQUICLive}, func(s *settings, value string) error {
		switch value {
		case carrierStreams, carrierOne, carrierDatagrams:
			s.carrier = value
			return nil
		}
		return fmt.Errorf("neither %s, %s nor %s", carrierStreams, carrierOne, carrierDatagrams)
	}},
}

func isLive(protocol string) bool {
	return protocol == protocolQUICLive || protocol == protocolTLSLive || protocol == protocolUDPLive
}

// checkLive refuses what a live source cannot be asked for.
func checkLive(j *job) error {
	switch {
	case j.Live == nil:
		return usageError{fmt.Errorf("job: %s without live", j.Protocol)}
	case len(j.Phases) != 0 || j.Video != nil || len(j.Uploads) != 0 || j.Connections != 1:
		return usageError{errors.New("job: live has one connection, and nothing else to do")}
	case j.Connection != connectionCold:
		return unsupportedError{fmt.Errorf("connection state %q with %s", j.Connection, j.Protocol)}
	}
	return j.Live.check()
}

// A viewer is what has arrived of a source's frames.
type viewer struct {
	job    sourceJob
	line   liveLine
	giveUp func() // ends what is under way

	mutex    sync.Mutex
	latency  []*int64
	digests  [][sha256.Size]byte // of the frames that have a latency
	partial  map[int]*partialFrame
	over     chan struct{}
	isOver   bool
	streams  int // that the source opened; -1: not known yet
	finished int // of these
	wrong    error
}

// A partialFrame is a frame of which some fragments are here.
type partialFrame struct {
	body    []byte
	here    []bool
	missing int
}

func newViewer(j sourceJob, giveUp func()) *viewer {
	return &viewer{
		job: j, line: liveLine{Event: "live", Carrier: j.Carrier, Frames: j.Frames}, giveUp: giveUp,
		latency: make([]*int64, j.Frames), digests: make([][sha256.Size]byte, j.Frames),
		partial: map[int]*partialFrame{}, over: make(chan struct{}), streams: -1,
	}
}

// view does a job whose server is a live source; its error means that the source could not be seen to its end.
func view(ctx context.Context, d dialing, j *job) error {
	asked := *j.Live
	asked.Carrier = map[string]string{
		protocolQUICLive: d.settings.carrier, protocolTLSLive: carrierOne, protocolUDPLive: carrierDatagrams,
	}[j.Protocol]
	untilEnd, cancel := context.WithCancel(ctx)
	defer cancel()
	v := newViewer(asked, cancel)
	d.start = now()
	v.line.TStartNs = d.start
	err := map[string]func(context.Context, dialing) error{
		protocolQUICLive: v.overQUIC, protocolTLSLive: v.overTLS, protocolUDPLive: v.overUDP,
	}[j.Protocol](untilEnd, d)
	if err != nil {
		err = reason(ctx, err)
	}
	return v.report(err)
}

// report prints all lines, and returns an error where the source was not seen to its end.
func (v *viewer) report(err error) error {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.wrong != nil {
		err = v.wrong
	}
	if err == nil && v.line.TSourceNs == nil {
		err = errors.New("no frame came")
	}
	var whole [][sha256.Size]byte
	bytes := make([]int64, (v.job.Frames+framesPerLine-1)/framesPerLine) // by line
	for frame, each := range v.latency {
		if each != nil {
			whole = append(whole, v.digests[frame])
			v.line.Bytes += int64(v.job.size(frame))
			bytes[frame/framesPerLine] += int64(v.job.size(frame))
		}
	}
	digest := digestOfDigests(whole)
	v.line.TEndNs, v.line.Completed, v.line.Digest = now(), len(whole), "sha256:"+hex.EncodeToString(digest[:])
	if err != nil {
		text := err.Error()
		v.line.Error = &text
	}
	emit(v.line)
	if err != nil {
		return errReported
	}
	for line, size := range bytes {
		first := line * framesPerLine
		some := v.latency[first:min(first+framesPerLine, v.job.Frames)]
		emit(framesLine{"frames", first, v.job.capture(*v.line.TSourceNs, first), v.job.IntervalNs, size, some})
	}
	return nil
}

// saw checks a header. The mutex is held.
func (v *viewer) saw(h frameHeader) error {
	if h.frame >= v.job.Frames || h.size != v.job.size(h.frame) {
		return fmt.Errorf("a frame %d of %d bytes, which nobody asked for", h.frame, h.size)
	}
	start := h.captured - int64(h.frame)*v.job.IntervalNs
	v.begun(start)
	if *v.line.TSourceNs != start {
		return fmt.Errorf("frame %d was produced %d ns beside its time", h.frame, start-*v.line.TSourceNs)
	}
	return nil
}

// begun learns when the first frame was produced, and so when everything ends. The mutex is held.
func (v *viewer) begun(start int64) {
	if v.line.TSourceNs == nil {
		v.line.TSourceNs = &start
		time.AfterFunc(time.Duration(v.job.end(start)-now()), v.giveUp)
	}
}

// whole records that the last byte of a frame came at `at`. The mutex is held.
func (v *viewer) whole(h frameHeader, digest [sha256.Size]byte, at int64) {
	if v.latency[h.frame] != nil {
		return
	}
	took := at - h.captured
	v.latency[h.frame], v.digests[h.frame] = &took, digest
	v.line.Completed++
	v.endIfOver()
}

// endIfOver ends the view once nothing can come any more. The mutex is held.
func (v *viewer) endIfOver() {
	if (v.line.Completed == v.job.Frames || v.finished == v.streams) && !v.isOver {
		v.isOver = true
		close(v.over)
	}
}

// fail ends the view with an error.
func (v *viewer) fail(err error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.wrong == nil {
		v.wrong = err
	}
	v.giveUp()
}

// read reads frames until the reader ends, properly or not. Only a frame that nobody asked for is an error.
func (v *viewer) read(from io.Reader) error {
	for {
		var header [frameHeaderBytes]byte
		if _, err := io.ReadFull(from, header[:]); err != nil {
			return nil
		}
		h := parseFrameHeader(header[:])
		v.mutex.Lock()
		err := v.saw(h)
		v.mutex.Unlock()
		if err != nil {
			return err
		}
		digest := sha256.New()
		if _, err := io.CopyN(digest, from, int64(h.size)); err != nil {
			return nil
		}
		at := now()
		v.mutex.Lock()
		v.whole(h, [sha256.Size]byte(digest.Sum(nil)), at)
		v.mutex.Unlock()
	}
}

// take adds a fragment that came at `at`.
func (v *viewer) take(datagram []byte, at int64) error {
	if len(datagram) < fragmentHeaderBytes {
		return fmt.Errorf("a datagram of %d bytes", len(datagram))
	}
	h, body := parseFrameHeader(datagram), datagram[fragmentHeaderBytes:]
	index, count := int(binary.BigEndian.Uint16(datagram[16:])), int(binary.BigEndian.Uint16(datagram[18:]))
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if err := v.saw(h); err != nil {
		return err
	}
	if v.latency[h.frame] != nil {
		return nil
	}
	if count != fragmentsOf(h.size) || index >= count || len(body) != fragmentSize(h.size, index) {
		return fmt.Errorf("fragment %d of %d of a frame of %d bytes has %d", index, count, h.size, len(body))
	}
	frame, begun := v.partial[h.frame]
	if !begun {
		frame = &partialFrame{make([]byte, h.size), make([]bool, count), count}
		v.partial[h.frame] = frame
	}
	if frame.here[index] {
		return nil
	}
	copy(frame.body[index*fragmentBytes:], body)
	frame.here[index] = true
	if frame.missing--; frame.missing == 0 {
		delete(v.partial, h.frame)
		v.whole(h, sha256.Sum256(frame.body), at)
	}
	return nil
}

// wait returns when the view is over, is given up as planned, or cannot go on, for which `why` gives the reason under the
// mutex.
func (v *viewer) wait(ctx context.Context, lost <-chan struct{}, why func() error) error {
	select {
	case <-v.over:
	case <-ctx.Done():
		v.mutex.Lock()
		defer v.mutex.Unlock()
		if v.line.TSourceNs == nil {
			return ctx.Err()
		}
	case <-lost:
		v.mutex.Lock()
		defer v.mutex.Unlock()
		if !v.isOver { // it may have been both at once
			return why()
		}
	}
	return nil
}

func (v *viewer) request() []byte {
	text, err := json.Marshal(v.job)
	if err != nil {
		panic(err) // it has numbers and a text alone
	}
	return append(text, '\n')
}

func (v *viewer) overQUIC(ctx context.Context, d dialing) error {
	d.settings.quic.EnableDatagrams, d.settings.quic.MaxIncomingUniStreams = true, mostStreams
	under, err := dialQUIC(ctx, d)
	if err != nil {
		return err
	}
	defer under.close(0)
	conn := under.conn
	asked, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	if _, err := asked.Write(v.request()); err != nil {
		return err
	}
	if err := asked.Close(); err != nil {
		return err
	}
	go v.readAnswer(asked)
	if v.job.Carrier == carrierDatagrams {
		go v.takeDatagrams(ctx, conn)
	} else {
		go v.acceptStreams(ctx, conn)
	}
	return v.wait(ctx, conn.Context().Done(), func() error { return context.Cause(conn.Context()) })
}

// readAnswer learns how many streams the source has opened in all.
func (v *viewer) readAnswer(asked *quic.Stream) {
	text, err := io.ReadAll(io.LimitReader(asked, longestSourceJob))
	var answer sourceAnswer
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		return // the connection is at its end
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.begun(answer.TStartNs)
	if v.job.Carrier != carrierDatagrams { // they may come behind the answer
		v.streams = answer.Streams
		v.endIfOver()
	}
}

func (v *viewer) acceptStreams(ctx context.Context, conn *quic.Conn) {
	for {
		stream, err := conn.AcceptUniStream(ctx)
		if err != nil {
			return
		}
		go func() {
			if err := v.read(bufio.NewReaderSize(stream, 64<<10)); err != nil {
				v.fail(err)
				return
			}
			v.mutex.Lock()
			defer v.mutex.Unlock()
			v.finished++
			v.endIfOver()
		}()
	}
}

func (v *viewer) takeDatagrams(ctx context.Context, conn *quic.Conn) {
	for {
		datagram, err := conn.ReceiveDatagram(ctx)
		if err != nil {
			return
		}
		if err := v.take(datagram, now()); err != nil {
			v.fail(err)
			return
		}
	}
}

func (v *viewer) overTLS(ctx context.Context, d dialing) error {
	d.settings.http2Windows = http2Windows{} // it has none to report
	conn, err := dialTLS(ctx, d)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(v.request()); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := v.read(bufio.NewReaderSize(conn, 64<<10)); err != nil {
			v.fail(err)
		}
	}()
	return v.wait(ctx, ended, func() error {
		if v.line.TSourceNs == nil || now() < v.job.end(*v.line.TSourceNs) {
			return errors.New("the connection ended before the source did")
		}
		return nil
	})
}

// overUDP says hello until a first datagram comes, and takes all that come.
func (v *viewer) overUDP(ctx context.Context, d dialing) error {
	socket, err := net.DialUDP("udp", nil, d.remote)
	if err != nil {
		return err
	}
	defer socket.Close()
	heard := make(chan struct{})
	go func() {
		hello := bytes.TrimSpace(v.request())
		for {
			_, _ = socket.Write(hello) // nobody may be listening yet
			select {
			case <-heard:
				return
			case <-ctx.Done():
				return
			case <-time.After(helloInterval):
			}
		}
	}()
	go func() {
		datagram := make([]byte, fragmentHeaderBytes+fragmentBytes+1)
		for first := true; ; {
			n, err := socket.Read(datagram)
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue // the other end's ICMP says that it does not listen yet
			}
			if at := now(); first {
				first = false
				close(heard)
				emit(connectionLine{
					Event: "connection", Protocol: protocolUDPLive, Local: socket.LocalAddr().String(), Remote: d.remote.String(),
					Primes: new(bool), TStartNs: d.start, THandshakeNs: at,
				})
			}
			if err := v.take(datagram[:n], now()); err != nil {
				v.fail(err)
				return
			}
		}
	}()
	return v.wait(ctx, nil, nil)
}
