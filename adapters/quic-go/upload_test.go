package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const uploadBytes = 400_000

// uploadedLines sends a file of uploadBytes to a server with knobs; the client's line and the server's are returned.
func uploadedLines(t *testing.T, protocol, expect string, knobs map[string]string) (client, server printedLine, digest string, err error) {
	t.Helper()
	body := make([]byte, uploadBytes)
	for i := range body {
		body[i] = byte(i * i >> 5)
	}
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	port, authority := serveFileWith(t, protocol, knobs)
	j := jobFor(protocol, connectionCold, port, authority, 1)
	j.Phases, j.Uploads = [][]string{{"/up", "/a"}}, map[string]upload{"/up": {Method: "PUT", File: file, Expect: expect}}
	lines, err := printed(t, func() error {
		failed := runClient(j)
		time.Sleep(50 * time.Millisecond) // the server, which is in this process, prints its line when it pleases
		return failed
	})
	for _, line := range lines {
		switch {
		case line.Event == "upload":
			server = line
		case line.Event == "object" && line.Path == "/up":
			client = line
		}
	}
	sum := sha256.Sum256(body)
	return client, server, "sha256:" + hex.EncodeToString(sum[:]), err
}

func TestAnUploadArrivesWholeAndBothEndsSayWhatArrived(t *testing.T) {
	for _, protocol := range []string{protocolH3, protocolH2} {
		for _, expect := range []string{"", expectContinue} {
			t.Run(protocol+" "+expect, func(t *testing.T) {
				begun := time.Now()
				client, server, digest, err := uploadedLines(t, protocol, expect, nil)
				if err != nil {
					t.Fatal(err, client.Error)
				}
				if server.Bytes != uploadBytes || server.Digest == nil || *server.Digest != digest || server.Method != "PUT" {
					t.Errorf("the server: %+v", server)
				}
				if client.UploadedBytes == nil || *client.UploadedBytes != uploadBytes || *client.UploadedDigest != digest {
					t.Errorf("the client: %+v", client)
				}
				if elapsed := time.Since(begun); expect != "" && elapsed > continueWait {
					t.Errorf("it took %s: no 100 came", elapsed)
				}
			})
		}
	}
}

func TestAnUploadThatIsNotTakenWholeFailsWithTheReason(t *testing.T) {
	for _, protocol := range []string{protocolH3, protocolH2} {
		for how, want := range map[string]string{answerRefused: "HTTP status 413", answerReset: ""} {
			t.Run(protocol+" "+how, func(t *testing.T) {
				client, server, _, err := uploadedLines(t, protocol, "", map[string]string{"upload_answer": how})
				if !errors.Is(err, errReported) || client.Error == nil || !strings.Contains(*client.Error, want) {
					t.Errorf("%v; the client: %+v", err, client)
				}
				if server.Error == nil || server.TEndNs != nil || server.Bytes >= uploadBytes {
					t.Errorf("the server: %+v", server)
				}
			})
		}
		t.Run(protocol+" early", func(t *testing.T) {
			client, server, digest, err := uploadedLines(t, protocol, "", map[string]string{"upload_answer": answerEarly})
			if err != nil || client.UploadedBytes == nil || *client.UploadedBytes != uploadBytes/2 || *client.UploadedDigest == digest {
				t.Errorf("%v; the client: %+v", err, client)
			}
			if server.Error == nil || server.Bytes != uploadBytes/2 {
				t.Errorf("the server: %+v", server)
			}
		})
	}
}

func TestARefusedUploadWithExpectSendsNothing(t *testing.T) {
	for _, protocol := range []string{protocolH3, protocolH2} {
		begun := time.Now()
		client, _, _, _ := uploadedLines(t, protocol, expectContinue, map[string]string{"upload_answer": answerRefused})
		if client.Status == nil || *client.Status != 413 || time.Since(begun) > continueWait {
			t.Errorf("%s: after %s: %+v", protocol, time.Since(begun), client)
		}
	}
}

func TestJobsWithUploadsThatCannotBe(t *testing.T) {
	for change, j := range map[string]*job{
		"is in no phase":       {Uploads: map[string]upload{"/b": {Method: "POST"}}},
		"neither POST nor PUT": {Uploads: map[string]upload{"/a": {Method: "GET"}}},
		"is not 100-continue":  {Uploads: map[string]upload{"/a": {Method: "POST", Expect: "200-ok"}}},
		"early data":           {Uploads: map[string]upload{"/a": {Method: "POST"}}, Connection: connection0RTT},
	} {
		j.Phases = [][]string{{"/a"}}
		if err := j.checkUploads(); err == nil || !strings.Contains(err.Error(), change) {
			t.Errorf("%s: %v", change, err)
		}
	}
}
