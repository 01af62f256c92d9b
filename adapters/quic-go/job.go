package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/ioutil"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	connectionCold    = "cold"
	connectionResumed = "resumed"
	connection0RTT    = "0rtt"
)

const mostConnections = 64
const mostWaitS = 3600

// A job is what a client is asked to do (adapters/CONTRACT.md).
type job struct {
	Protocol   string                 `json:"protocol"`
	Connection string                 `json:"connection"`
	Address    string                 `json:"address"`
	Port       uint16                 `json:"port"`
	Phases     [][]string             `json:"phases"`
	Identity   identity               `json:"identity"`
	Knobs      map[string]interface{} `json:"knobs"`
	TimeoutS   float64                `json:"timeout_s"`
	// Connections is how many fetch all phases, each for itself and all at once; 1 where the job has no such key.
	Connections int `json:"connections"`
	// WaitsS is how long nothing is done before each phase, the first counted from the completed handshake; or empty.
	WaitsS []float64 `json:"waits_s"`
	// SecondAddress is the client's, from which it may continue; empty where it has one address only.
	SecondAddress string `json:"second_address"`
	// Uploads has for some paths the body that is sent there; others are fetched.
	Uploads map[string]upload `json:"uploads"`
	// Priorities has for some paths the header field `priority` of their requests (RFC 9218); others have none.
	Priorities map[string]string `json:"priorities"`
	// Video is what is played instead of a load of phases; nil where there is none.
	Video *videoJob `json:"video"`
	// Live is what a live source is asked for instead of a load of phases; nil where there is none.
	Live *sourceJob `json:"live"`
}

type identity struct {
	Host string `json:"host"`
	CA   string `json:"ca"`
}

func readJob(path string) (*job, error) {
	text, err := ioutil.ReadFile(path)
	if err != nil {
		return nil, usageError{err}
	}
	return parseJob(text)
}

func parseJob(text []byte) (*job, error) {
	j := job{Connections: 1}
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, usageError{fmt.Errorf("job: %w", err)}
	}
	if err := j.check(); err != nil {
		return nil, err
	}
	return &j, nil
}

func (j *job) check() error {
	switch j.Protocol {
	case protocolH3, protocolH2, protocolEither:
	case protocolHQ:
		if err := checkHQ(j); err != nil {
			return err
		}
	case protocolQUICLive, protocolTLSLive, protocolUDPLive:
		if err := checkLive(j); err != nil {
			return err
		}
	default:
		return unsupportedError{fmt.Errorf("protocol %q", j.Protocol)}
	}
	if j.Protocol == protocolEither && j.Connection != connectionCold {
		return unsupportedError{fmt.Errorf("connection state %q with %s: each of its connections is cold", j.Connection, j.Protocol)}
	}
	switch j.Connection {
	case connectionCold, connectionResumed, connection0RTT:
	default:
		return unsupportedError{fmt.Errorf("connection state %q", j.Connection)}
	}
	if j.Connection == connection0RTT && j.Protocol == protocolH2 {
		return unsupportedError{errors.New("0-RTT with h2: crypto/tls sends no early data over TCP")}
	}
	if why, impossible := impossibleStates[j.Connection]; impossible && j.Protocol == protocolH3 {
		return unsupportedError{fmt.Errorf("connection state %q: %s", j.Connection, why)}
	}
	if net.ParseIP(j.Address) == nil {
		return usageError{fmt.Errorf("job: address: %q is not an IP address", j.Address)}
	}
	if j.Port == 0 || j.Identity.Host == "" || j.TimeoutS <= 0 {
		return usageError{errors.New("job: port, identity.host and timeout_s must be given")}
	}
	if j.Connections < 1 || j.Connections > mostConnections {
		return usageError{fmt.Errorf("job: connections is %d: give 1 to %d", j.Connections, mostConnections)}
	}
	if len(j.WaitsS) != 0 && len(j.WaitsS) != len(j.Phases) {
		return usageError{fmt.Errorf("job: waits_s has %d numbers for %d phases", len(j.WaitsS), len(j.Phases))}
	}
	for _, wait := range j.WaitsS {
		if wait < 0 || wait > mostWaitS {
			return usageError{fmt.Errorf("job: waits_s has %g: give 0 to %d", wait, mostWaitS)}
		}
	}
	if j.wait(0) > 0 && j.Connection == connection0RTT {
		return usageError{errors.New("job: waits_s before the first phase: a connection that waits has no use for 0rtt")}
	}
	if len(j.Phases) == 0 && j.Live == nil {
		return usageError{errors.New("job: no phases")}
	}
	if err := j.checkUploads(); err != nil {
		return err
	}
	if j.Live != nil && !isLive(j.Protocol) {
		return usageError{fmt.Errorf("job: live with %s", j.Protocol)}
	}
	if j.Video != nil {
		if err := j.Video.check(j); err != nil {
			return err
		}
	}
	for _, phase := range j.Phases {
		if len(phase) == 0 {
			return usageError{errors.New("job: a phase without paths")}
		}
		for _, path := range phase {
			if !strings.HasPrefix(path, "/") {
				return usageError{fmt.Errorf("job: path %q does not begin with /", path)}
			}
		}
	}
	return nil
}

func (j *job) remote() *net.UDPAddr {
	return &net.UDPAddr{IP: net.ParseIP(j.Address), Port: int(j.Port)}
}

// wait is how long nothing is done before a phase.
func (j *job) wait(phase int) time.Duration {
	if phase >= len(j.WaitsS) {
		return 0
	}
	return time.Duration(j.WaitsS[phase] * float64(time.Second))
}

func (j *job) timeout() time.Duration {
	return time.Duration(j.TimeoutS * float64(time.Second))
}

// knobs are the job's, as the texts that the command line would have.
func (j *job) knobs() (map[string]string, error) {
	texts := make(map[string]string, len(j.Knobs))
	for name, value := range j.Knobs {
		switch v := value.(type) {
		case string:
			texts[name] = v
		case bool:
			texts[name] = strconv.FormatBool(v)
		case float64:
			texts[name] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			return nil, usageError{fmt.Errorf("job: knob %q is neither text, number nor truth value", name)}
		}
	}
	return texts, nil
}
