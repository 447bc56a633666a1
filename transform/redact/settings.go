// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// isCloudConfig recognizes the keys that hold a provider's configuration, credentials
// included.
func isCloudConfig(key string) bool {
	if len(key) < len("cloudproviderconfig") || len(key) > 32 {
		return key == "cloud.conf"
	}
	flat := flatten(key)
	return flat == "cloudproviderconfig" || flat == "customcloudprovider"
}

// plainSetting are values that the AWS provider's settings have and no secret has:
// zones, IDs, roles, endpoints.
var plainSetting = regexp.MustCompile(`^(?:[a-z]{2}(?:-[a-z]+)+-\d[a-z]?|(?:vpc|subnet|rtb|sg)-[0-9a-f]{8,17}|arn:aws[a-z-]*:iam::\d+:role/[A-Za-z0-9/_+=,.-]{1,80}|` +
	`ipv[46]|ec2|elasticloadbalancing|https://[a-z0-9.-]+(?::\d+)?/?)$`)

// plainSettingOf reports whether the value of a setting is no secret. The names of
// clusters have no form of their own.
func plainSettingOf(name string, value []byte) bool {
	switch strings.ToLower(name) {
	case "kubernetesclusterid", "kubernetesclustertag":
		return refersByName(string(value))
	}
	return plainSetting.Match(value) && !anyRandom(value)
}

// settings hides the values of a provider's configuration. Sections and names stay,
// so that a change of them can be reviewed.
func (w *walker) settings(n yamledit.Node) {
	text, ok := n.String()
	if !ok {
		w.hideAll(n)
		return
	}
	if harmless(text) {
		return
	}
	if !strings.ContainsAny(text, "\n=") {
		w.cover(n)
		return
	}
	var spans []span
	start := 0
	for line := range strings.Lines(text) {
		if s := hiddenOf([]byte(line)); s.start < s.end {
			spans = append(spans, span{start + s.start, start + s.end})
		}
		start += len(line)
	}
	w.inside(n, covers([]byte(text), spans))
}

var setting = regexp.MustCompile(`^([A-Za-z0-9_.-]{1,40})\s*[=:][ \t]*([^= \t].*)$`)

// hiddenOf returns what is hidden of a line: the value of a setting that may hold a
// secret, and all that is neither a setting nor a section.
func hiddenOf(line []byte) span {
	body := bytes.Trim(line, " \t\r\n")
	if len(body) == 0 || body[0] == '[' && body[len(body)-1] == ']' && len(body) < 64 {
		return span{}
	}
	start := bytes.Index(line, body)
	m := setting.FindSubmatchIndex(body)
	if m == nil || anyRandom(body[:m[3]]) {
		return span{start, start + len(body)}
	}
	value := body[m[4]:]
	if harmless(string(value)) || plainSettingOf(string(body[:m[3]]), value) {
		return span{}
	}
	return span{start + m[4], start + len(body)}
}
