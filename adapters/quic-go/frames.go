package main

import (
	"crypto/sha256"
	"crypto/sha3"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// A live source of media (adapters/CONTRACT.md, Live): the server produces a frame at each interval, whatever the path
// takes, and the client measures when all of it has arrived.
const (
	protocolQUICLive = "quic-live"
	protocolTLSLive  = "tls-live"
	protocolUDPLive  = "udp-live"
)

// How frames travel.
const (
	carrierStreams   = "stream_per_frame"
	carrierOne       = "one_stream"
	carrierDatagrams = "datagrams"
)

const (
	frameHeaderBytes    = 16
	fragmentHeaderBytes = frameHeaderBytes + 4
	fragmentBytes       = 1100 // of a frame in a datagram: it fits the smallest packet of QUIC
	mostFragments       = 1<<16 - 1
	mostFrames          = 100_000
	mostSourceBytes     = 1 << 30
	longestSource       = time.Hour
)

// A sourceJob is what the client asks the server to produce.
type sourceJob struct {
	Carrier       string `json:"carrier,omitempty"` // the client adds it
	Frames        int    `json:"frames"`
	IntervalNs    int64  `json:"interval_ns"`
	FrameBytes    int    `json:"frame_bytes"`
	KeyFrameBytes int    `json:"key_frame_bytes"`
	KeyFrameEvery int    `json:"key_frame_every"` // 0: there are none
	DropAfterNs   int64  `json:"drop_after_ns"`   // 0: never
	DrainNs       int64  `json:"drain_ns"`
}

func (j *sourceJob) check() error {
	total := int64(j.Frames) * int64(max(j.FrameBytes, j.KeyFrameBytes))
	switch {
	case j.Frames < 1 || j.Frames > mostFrames:
		return usageError{fmt.Errorf("live: frames is %d: give 1 to %d", j.Frames, mostFrames)}
	case j.IntervalNs < 1 || time.Duration(j.IntervalNs) > longestSource/time.Duration(j.Frames):
		return usageError{fmt.Errorf("live: interval_ns is %d: give at least 1, and %s in all", j.IntervalNs, longestSource)}
	case j.FrameBytes < 1 || j.KeyFrameEvery < 0 || (j.KeyFrameEvery > 0 && j.KeyFrameBytes < 1):
		return usageError{errors.New("live: frame_bytes, and key_frame_bytes where there are some, must be above 0")}
	case max(j.FrameBytes, j.KeyFrameBytes) > mostFragments*fragmentBytes || total > 2*mostSourceBytes:
		return usageError{fmt.Errorf("live: a frame has at most %d bytes, and all of them 1 GiB", mostFragments*fragmentBytes)}
	case j.DropAfterNs < 0 || j.DrainNs < 0 || time.Duration(j.DrainNs) > longestSource:
		return usageError{errors.New("live: drop_after_ns and drain_ns must be 0 or more")}
	}
	return nil
}

// size is that of a frame's body.
func (j *sourceJob) size(frame int) int {
	if j.KeyFrameEvery > 0 && frame%j.KeyFrameEvery == 0 {
		return j.KeyFrameBytes
	}
	return j.FrameBytes
}

// capture is when a frame is produced, if the first is at `start`.
func (j *sourceJob) capture(start int64, frame int) int64 { return start + int64(frame)*j.IntervalNs }

// end is when both ends give up what has not arrived.
func (j *sourceJob) end(start int64) int64 {
	return j.capture(start, j.Frames-1) + j.IntervalNs + j.DrainNs
}

// frameContent is the body of a frame: the same bytes for the same number, without end.
func frameContent(frame int) io.Reader {
	shake := sha3.NewSHAKE256()
	_, _ = fmt.Fprintf(shake, "live %d", frame) // a hash never refuses
	return shake
}

// A frameHeader comes before a frame's body, and before each of its fragments.
type frameHeader struct {
	frame, size int
	captured    int64 // ns since 1970
}

func (h frameHeader) append(to []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(h.frame))
	to = binary.BigEndian.AppendUint32(to, uint32(h.size))
	return binary.BigEndian.AppendUint64(to, uint64(h.captured))
}

func parseFrameHeader(from []byte) frameHeader {
	return frameHeader{
		int(binary.BigEndian.Uint32(from)), int(binary.BigEndian.Uint32(from[4:])), int64(binary.BigEndian.Uint64(from[8:])),
	}
}

// fragmentsOf is the number of a frame's datagrams.
func fragmentsOf(size int) int { return (size + fragmentBytes - 1) / fragmentBytes }

// fragmentSize is the part of a frame's body in one of them.
func fragmentSize(size, index int) int { return min(fragmentBytes, size-index*fragmentBytes) }

// fragment is the next datagram of a frame, whose content is read in order.
func fragment(h frameHeader, content io.Reader, index int) []byte {
	datagram := h.append(make([]byte, 0, fragmentHeaderBytes+fragmentBytes))
	datagram = binary.BigEndian.AppendUint16(datagram, uint16(index))
	datagram = binary.BigEndian.AppendUint16(datagram, uint16(fragmentsOf(h.size)))
	whole := datagram[:len(datagram)+fragmentSize(h.size, index)]
	_, _ = io.ReadFull(content, whole[len(datagram):]) // it has no end
	return whole
}

// digestOfDigests is one digest of the bodies of some frames, in their order.
func digestOfDigests(digests [][sha256.Size]byte) [sha256.Size]byte {
	all := sha256.New()
	for _, each := range digests {
		all.Write(each[:])
	}
	return [sha256.Size]byte(all.Sum(nil))
}

// A sourceLine is what the server did with its frames.
type sourceLine struct {
	Event    string  `json:"event"`
	Carrier  string  `json:"carrier"`
	Remote   string  `json:"remote"`
	TStartNs int64   `json:"t_start_ns"` // the first frame was produced
	TEndNs   int64   `json:"t_end_ns"`   // nothing more is handed to the transport
	Frames   int     `json:"frames"`     // that were produced
	Sent     int     `json:"sent"`       // handed to the transport whole
	Reset    int     `json:"reset"`      // given up in the middle
	Dropped  int     `json:"dropped"`    // given up before anything of them was handed over
	Bytes    int64   `json:"bytes"`      // of bodies, handed over
	Error    *string `json:"error"`
}

// A framesLine is when the frames of one stretch arrived.
type framesLine struct {
	Event      string   `json:"event"`
	First      int      `json:"first"`
	TFirstNs   int64    `json:"t_first_ns"` // that frame was produced
	IntervalNs int64    `json:"interval_ns"`
	Bytes      int64    `json:"bytes"`      // of the bodies of those that are whole
	LatencyNs  []*int64 `json:"latency_ns"` // since its production until its last byte; null: it was never whole
}

// A liveLine is what a client got of all frames.
type liveLine struct {
	Event     string  `json:"event"`
	Carrier   string  `json:"carrier"`
	TStartNs  int64   `json:"t_start_ns"`  // the client began to open its connection
	TSourceNs *int64  `json:"t_source_ns"` // the first frame was produced, by the header of any; null: none came
	TEndNs    int64   `json:"t_end_ns"`
	Frames    int     `json:"frames"`
	Completed int     `json:"completed"`
	Bytes     int64   `json:"bytes"`  // of the bodies of completed frames
	Digest    string  `json:"digest"` // of their digests, in order
	Error     *string `json:"error"`
}
