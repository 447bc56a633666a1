// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"net/http"
	"strings"
)

// Metadata opens the metadata service of an instance, both versions, and returns its endpoint for
// AWS_EC2_METADATA_SERVICE_ENDPOINT. Clients drop a path from it, so each instance has a port of its own.
func (f *Fake) Metadata(i Instance) (string, error) {
	values := map[string]string{
		"instance-id": i.ID, "instance-type": i.Type, "local-ipv4": i.IP, "local-hostname": i.Name, "hostname": i.Name,
		"placement/availability-zone": Zone, "placement/region": Region, "mac": card, "network/interfaces/macs/": card + "/",
		"network/interfaces/macs/" + card + "/vpc-id":        VPC,
		"network/interfaces/macs/" + card + "/subnet-id":     Subnet,
		"network/interfaces/macs/" + card + "/local-ipv4s":   i.IP,
		"network/interfaces/macs/" + card + "/device-number": "0",
	}
	server, url, err := f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answerMetadata(w, r, values)
	}))
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.metadata = append(f.metadata, server)
	return url, nil
}

const card = "02:00:00:00:00:01"

// answerMetadata returns a token to clients of the second version and asks none for it.
func answerMetadata(w http.ResponseWriter, r *http.Request, values map[string]string) {
	if r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" {
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		_, _ = w.Write([]byte("lab"))
		return
	}
	value, ok := values[strings.TrimPrefix(r.URL.Path, "/latest/meta-data/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(value))
}
