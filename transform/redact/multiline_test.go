// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// secretive has a secret of each kind that is known by what is on other lines.
const secretive = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: orchard
# registries:
#   configs:
#     registry.example.org:
#       auth:
#         password: |
#           hidden-01
#           hidden-02
#       user: orchard
# password hidden-34
# machine example.org
spec:
  agentEnvVars:
    - name: HTTP_PROXY
      value: http://orchard:hidden-03@proxy.example.org:3128
    - value: hidden-04
      # before the name
      name: REGISTRY_PASSWORD
    - name: REGION
      value: eu-west-1
  rkeConfig:
    additionalManifest: |
      apiVersion: v1
      kind: Secret
      metadata:
        name: orchard
      stringData:
        # old: hidden-05
        first: hidden-06
        second: |
          hidden-07
          hidden-08

          hidden-09
        # newer: hidden-10
      ---
      apiVersion: v1
      kind: ConfigMap
      data:
        pod.sh: |
          curl -u orchard:hidden-11 https://example.org
          docker login -p hidden-12
    chartValues:
      proxy:
        args:
          - --password
          - hidden-13
          - --verbose
          - shown-01
          # before the value
          - --client-secret

          # comment
          - hidden-14
        token:
          - hidden-15
          -
            - hidden-16
          - name: shown-02
            deep: {more: [hidden-17, hidden-18]}
        emptyToken:
        after: shown-03
        foldedPassword: >-
          hidden-19
          hidden-20
        quotedPassword: "hidden-21
          hidden-22
          hidden-23"
        plainPassword: hidden-24
          hidden-25
        json: '{"password": "hidden-26", "user":
          "hidden-33"}'
    machineGlobalConfig:
      cloud-provider-config: |
        [Global]
        Zone = eu-west-1a
        Other = hidden-27
      "etcd-arg": ["--password", "hidden-28",
        "--token", "hidden-29"]
    etcd: {s3: {accessKey: hidden-30,
      secretKey:
        hidden-31}, token: hidden-32}
`

// multiline has secrets that begin on one line and end on another.
const multiline = `a: |
  -----BEGIN RSA PRIVATE KEY-----
  hidden01hidden02
  hidden03hidden04
  -----END RSA PRIVATE KEY-----
c: shown
# -----BEGIN PRIVATE KEY-----
# hidden05hidden06
# hidden07hidden08
# -----END PRIVATE KEY-----
d: shown
`

// elements are of XML, over several lines.
const elements = `a: shown
# <token>
# hidden-01
# </token>
b: |
  <password>
    hidden-02
  </password>
c: shown
`

// unended is a private key without an end, in a string and after it.
const unended = "a: |\n -----BEGIN PRIVATE KEY\n hidden\nb:"

// aliased has a secret that is known by the key at an alias.
const aliased = `list:
  - &one hidden-01
  - shown
  - deep: &two
      a: hidden-02
      b: hidden-03
password: *one
more:
  token: *two
`

func TestSecretsOnManyLinesAreHidden(t *testing.T) {
	for text, want := range map[string]int{secretive: 34, multiline: 6, elements: 2, aliased: 3} {
		d := assert.Value(yamledit.ParseString("in.yaml", text))(t)
		out := Document(d)
		n := strings.Count(out, Mark)
		assert.Truef(t, n >= want && !strings.Contains(out, "hidden") && strings.Count(out, "shown") == strings.Count(text, "shown"), "%d secrets:\n%s", n, out)
	}
}

// sameLines compares some of the lines of a document with those of the whole one.
func sameLines(t *testing.T, d *yamledit.Document, places int) {
	t.Helper()
	text, all := strings.SplitAfter(string(d.Bytes()), "\n"), strings.SplitAfter(Document(d), "\n")
	for from := 0; from < len(text); from += max(1, len(text)/places) {
		for _, count := range []int{1, 2, 7, 30} {
			to := min(from+count, len(text))
			start := len(strings.Join(text[:from], ""))
			got := Lines(d, start, start+len(strings.Join(text[from:to], "")))
			assert.Mustf(t, got == strings.Join(all[from:to], ""), "lines %d to %d of\n%s\nare %q alone", from+1, to, d.Bytes(), got)
		}
	}
}

func TestLinesAreThoseOfTheDocument(t *testing.T) {
	for _, text := range append([]string{secretive, multiline, elements, unended, aliased}, ownStrings...) {
		for _, text := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
			if d, err := yamledit.ParseString("in.yaml", text); err == nil {
				sameLines(t, d, 1000)
			}
		}
	}
}

func TestASecretIsHiddenWhereItIsWrittenWhoeverRefersToIt(t *testing.T) {
	for _, text := range []string{
		"note: &a hunter2\ntoken: *a\n",
		"note: &a {x: hunter2}\npassword: *a\n",
		"base: &a\n  x: hunter2\nkind: Secret\nstringData: *a\n",
		"base: &a\n  x: hunter2\nkind: Secret\nstringData:\n  <<: *a\n",
		"base: &a {name: MY_TOKEN}\nenv:\n  - <<: *a\n    value: hunter2\n",
		"note: &a |\n  hunter2\ntoken: *a\n",
	} {
		hidesSecret(t, text)
	}
}
