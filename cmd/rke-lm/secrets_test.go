// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	udiff "github.com/aymanbagabas/go-udiff"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Every planted secret is made of its own mark, repeated, so that a part of it
// is recognised as well, in upper and in lower case.
var secretMark = regexp.MustCompile(`(?i)q(\d{4})z`)

// fill returns n characters of marks. The case changes from mark to mark, for
// some secrets are known by their mixture.
func fill(serial, n int) string {
	mark := fmt.Sprintf("Q%04dz", serial)
	return strings.Repeat(mark, n/len(mark)+1)[:n]
}

func low(serial, n int) string { return strings.ToLower(fill(serial, n)) }

// secretKind is one kind of secret.
type secretKind struct {
	name string // of the kind
	key  string // under which people write it
	make func(serial int) string
	// bare says that the secret is known by its form, wherever it stands; the
	// others are known by their key.
	bare bool
}

var secretKinds = []secretKind{
	{"an AWS access key id", "AWS_ACCESS_KEY_ID", func(n int) string { return "AKIA" + strings.ToUpper(fill(n, 12)) + "FAKE" }, true},
	{"an AWS access key id of a session", "AWS_ACCESS_KEY_ID", func(n int) string { return "ASIA" + strings.ToUpper(fill(n, 12)) + "FAKE" }, true},
	{"an AWS secret access key", "AWS_SECRET_ACCESS_KEY", func(n int) string { return fill(n, 18) + "/+" + fill(n, 20) }, true},
	{"an AWS secret access key that starts with a slash", "AWS_SECRET_ACCESS_KEY", func(n int) string { return "/" + fill(n, 39) }, true},
	{"an AWS session token", "AWS_SESSION_TOKEN", func(n int) string { return fill(n, 90) + "/+" + fill(n, 90) + "==" }, true},
	{"an S3 access key", "accessKey", func(n int) string { return "minio-" + low(n, 12) }, false},
	{"an S3 secret key", "secretKey", func(n int) string { return "minio-" + fill(n, 18) }, false},
	{"a registry's password", "password", func(n int) string { return "pull-" + fill(n, 12) }, false},
	{"a registry's auth", "auth", func(n int) string { return fill(n, 24) }, false},
	{"a registry's identity token", "identityToken", func(n int) string { return "id-" + low(n, 18) }, false},
	{"a token of Rancher", "CATTLE_TOKEN", func(n int) string { return "token-" + low(n, 6) + ":" + low(n, 54) }, true},
	{"a token of a kubeconfig", "token", func(n int) string { return "kubeconfig-u-" + low(n, 6) + ":" + low(n, 54) }, true},
	{"an SSH private key", "sshPrivateKey", func(n int) string {
		return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + fill(n, 70) + "\n" + fill(n, 24) + "\n-----END OPENSSH PRIVATE KEY-----"
	}, true},
	{"the password of a URL", "HTTPS_PROXY", func(n int) string { return "http://proxy:" + fill(n, 12) + "@proxy.example.com:3128/path" }, true},
	{"a bearer token", "authorization", func(n int) string { return "Bearer " + low(n, 30) }, true},
	{"a JWT", "jwt", func(n int) string { return "eyJ" + fill(n, 30) + "." + fill(n, 40) + "." + fill(n, 30) }, true},
	{"a token of GitHub", "GITHUB_TOKEN", func(n int) string { return "ghp_" + fill(n, 36) }, true},
	{"a fine-grained token of GitHub", "GITHUB_TOKEN", func(n int) string { return "github_pat_" + fill(n, 22) + "_" + fill(n, 59) }, true},
	{"a join token of RKE2", "token", func(n int) string { return "K10" + low(n, 64) + "::server:" + low(n, 32) }, true},
	{"a join token of RKE2 with a password in base64", "token", func(n int) string { return "K10" + low(n, 64) + "::server:" + low(n, 12) + "/+" + low(n, 12) + "=" }, true},
	{"a password", "adminPassword", func(n int) string { return "hunter-" + low(n, 12) }, false},
	{"a password with a comma in it", "adminPassword", func(n int) string { return low(n, 12) + "," + low(n, 12) }, false},
	{"a password with blanks in it", "adminPassword", func(n int) string { return "correct " + low(n, 12) + " " + low(n, 12) }, false},
	{"a password that starts with a bracket", "adminPassword", func(n int) string { return "{" + low(n, 12) + "]" }, false},
	{"a token", "token", func(n int) string { return low(n, 12) }, false},
	{"a secret", "secret", func(n int) string { return low(n, 12) }, false},
	{"an API key", "apiKey", func(n int) string { return low(n, 12) }, false},
	{"a client secret", "clientSecret", func(n int) string { return low(n, 12) + "~" + low(n, 12) }, false},
}

// secretCluster is planted with one secret of one kind in every place. Each edit
// has some within three lines, so that they are in its diff.
const secretCluster = `# {{note "a comment at the top" 0}}
apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: strongroom
  namespace: fleet-default
  annotations:
    {{pair "an annotation"}}
    example.com/token: {{value "an annotation with a prefix"}}
    example.com/note: {{bare "an annotation that says nothing"}}
    kubectl.kubernetes.io/last-applied-configuration: |
      {"spec":{"config":{ {{jsonPair "the last applied configuration"}} }}}
spec:
  kubernetesVersion: v1.26.15+rke2r1
  agentEnvVars:
    - name: {{key}}
      value: {{value "agentEnvVars"}}
    - name: NOTE
      value: {{bare "a harmless name in agentEnvVars"}}
  rkeConfig:
    etcd:
      s3:
        bucket: strongroom
        {{pair "etcd.s3"}}
    machineGlobalConfig:
      etcd-s3-access-key: {{value "etcd-s3-access-key"}}
      etcd-s3-secret-key: {{value "etcd-s3-secret-key"}}
      etcd-s3-session-token: {{value "etcd-s3-session-token"}}
      agent-token: {{value "agent-token"}}
      token: {{value "token"}}
      # {{note "a comment above the provider" 6}}
      cloud-provider-name: aws # {{note "a comment beside the provider" 6}}
      # {{note "a comment below the provider" 6}}
      kube-controller-manager-arg:
        # {{note "a comment above an argument" 8}}
        - profiling=false # {{note "a comment beside an argument" 8}}
        - {{assign "an argument of the manager"}}
        # {{note "a comment below an argument" 8}}
      cloud-provider-config: |
        [Global]
        {{ini "cloud-provider-config" 8}}
        Zone = {{text "a harmless name in cloud-provider-config" 8}}
      kube-controller-manager-extra-env:
        - {{assign "extra-env of the manager"}}
        - NOTE={{plain "a harmless name in extra-env"}}
      kubelet-arg:
        - {{assign "kubelet-arg"}}
        - node-labels=example.com/x={{plain "a node label"}}
      audit-policy-file: |
        # {{note "a comment in an inline file" 8}}
        x:
          {{pair "an inline file"}}
    machineSelectorConfig:
      # {{note "a comment above an entry" 6}}
      - config:
          protect-kernel-defaults: false
          kube-apiserver-extra-env: [{{assignFlow "extra-env in a flow list"}}]
      - machineLabelSelector:
          matchLabels:
            rke.cattle.io/etcd-role: "true"
        config:
          etcd-extra-env: [{{assignFlow "extra-env of a selector"}}]
          kube-controller-manager-arg:
            - {{assign "an argument of the manager in a selector"}}
            - profiling=false
            # {{note "a comment below an argument in a selector" 12}}
      - machineLabelSelector:
          matchLabels:
            rke.cattle.io/control-plane-role: "true"
        config:
          kube-controller-manager-arg:
            - profiling=false # the ones above vanish
    registries:
      configs:
        registry.example.com:
          auth:
            username: puller
            {{pair "a registry's auth"}}
      mirrors:
        docker.io:
          endpoint:
            - {{bare "the endpoint of a mirror"}}
    additionalManifest: |-
      apiVersion: v1
      kind: Secret
      metadata:
        name: one
      stringData:
        config: {{value "stringData"}}
        {{pair "stringData by its name"}}
      ---
      apiVersion: v1
      kind: Secret
      metadata:
        name: two
        annotations:
          {{pair "an annotation of a Secret"}}
      data:
        one: {{value "data"}}
        "two": {{value "data behind a quoted key"}}
      ---
      apiVersion: helm.cattle.io/v1
      kind: HelmChart
      metadata:
        name: chart
        namespace: kube-system
      spec:
        set:
          {{pair "a set value of a chart"}}
        valuesContent: |-
          # {{note "a comment in the values of a chart" 10}}
          global:
            {{pair "the values of a chart"}}
          env:
            - name: {{key}}
              value: {{value "an environment variable in the values of a chart"}}
          manifests: |
            # {{note "a comment in a manifest in the values of a chart" 12}}
            apiVersion: v1
            kind: Secret
            stringData:
              config: {{value "a Secret in the values of a chart"}}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: three
      data:
        # {{note "a comment in a ConfigMap" 8}}
        {{pair "a ConfigMap"}}
        app.conf: |
          {{ini "a file in a ConfigMap" 10}}
    machinePools:
      - name: servers # {{note "a comment beside a pool" 6}}
        controlPlaneRole: true
        etcdRole: true
        quantity: 3
        machineDeploymentAnnotations:
          {{pair "an annotation of a pool"}}
          example.com/token: {{value "an annotation of a pool with a prefix"}}
          example.com/note: {{bare "an annotation of a pool that says nothing"}}
      - name: agents
        workerRole: true
        quantity: 3
        taints:
          - key: example.com/x
            value: {{bare "a taint"}}
            effect: NoSchedule
`

// labelledCluster has secrets in a pool's labels and in a selector on them.
const labelledCluster = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: labelled
  namespace: fleet-default
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
    machineSelectorConfig:
      - machineLabelSelector:
          matchExpressions:
            - key: example.com/token
              operator: NotIn
              values: [{{value "the value of a selector"}}]
        config:
          protect-kernel-defaults: false
    machinePools:
      - name: servers
        controlPlaneRole: true
        etcdRole: true
        quantity: 3
        labels:
          example.com/token: {{value "a label of a pool"}}
          example.com/note: {{bare "a label of a pool that says nothing"}}
`

// nestedSecrets has Secrets that are not the root of their documents.
const nestedSecrets = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: listed
  namespace: fleet-default
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
    additionalManifest: |-
      apiVersion: helm.cattle.io/v1
      kind: HelmChart
      spec:
        valuesContent: |-
          extraObjects:
            - apiVersion: v1
              kind: Secret
              stringData:
                config: {{value "a Secret among the objects of a chart"}}
      ---
      apiVersion: v1
      kind: List
      items:
        - apiVersion: v1
          kind: Secret
          stringData:
            config: {{value "a Secret in a List"}}
`

// flagged has secrets in arguments that have no name, or a blank behind it, and
// in commands that people keep as comments.
const flagged = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: flagged
  namespace: fleet-default
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      # curl https://rancher.example.com/system-agent-install.sh | sh -s - --token {{raw "a command in a comment"}} --etcd
      cloud-provider-name: aws
      kube-controller-manager-arg:
        - {{bare "an argument that is nothing else"}}
        - profiling=false
      kubelet-arg:
        - --token {{raw "an argument with a blank"}}
    machineSelectorConfig:
      - machineLabelSelector:
          matchLabels:
            rke.cattle.io/control-plane-role: "true"
        config:
          kube-controller-manager-arg:
            - profiling=false # the ones above vanish
`

// charted has the chart of the cloud-controller-manager, with secrets beside what
// the stages change in it.
const charted = `apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata:
  name: charted
  namespace: fleet-default
spec:
  kubernetesVersion: v1.26.15+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cloud-provider-name: aws
      kubelet-arg:
        - max-pods=110
        - {{assign "an argument of the kubelet"}}
    additionalManifest: |-
      apiVersion: helm.cattle.io/v1
      kind: HelmChart
      metadata:
        name: aws-cloud-controller-manager
        namespace: kube-system
      spec:
        bootstrap: true
        chart: aws-cloud-controller-manager
        failurePolicy: abort
        repo: https://kubernetes.github.io/cloud-provider-aws
        targetNamespace: kube-system
        valuesContent: |-
          # {{note "a comment above the chart's image" 10}}
          image:
            tag: v1.26.6
            {{pair "the chart's image"}}
          # {{note "a comment above the chart's arguments" 10}}
          args:
            - --v=2
            - --cloud-provider=aws
            - --configure-cloud-routes=false
            # {{note "a comment between the chart's arguments" 12}}
            - {{assign "an argument of the chart"}}
          env:
            - name: {{key}}
              value: {{value "the environment of the chart"}}
            - name: NOTE
              value: {{bare "a harmless name in the environment of the chart"}}
          nodeSelector:
            node-role.kubernetes.io/control-plane: "true"
          tolerations:
            - operator: Exists
        version: 0.0.8
    machinePools:
      - name: servers
        controlPlaneRole: true
        etcdRole: true
        quantity: 3
`

// planter makes secrets of one kind and remembers where they are.
type planter struct {
	kind   secretKind
	places []string // by serial
}

func (p *planter) next(place string) string {
	p.places = append(p.places, place)
	return p.kind.make(len(p.places) - 1)
}

// scalar writes a value in YAML.
func scalar(v string) string {
	if strings.ContainsAny(v, "\n{[,~ ") {
		return strconv.Quote(v)
	}
	return v
}

func lines(v string, indent int, prefix string) string {
	return strings.ReplaceAll(v, "\n", "\n"+strings.Repeat(" ", indent)+prefix)
}

// plant returns the document with secrets of the kind in it.
func plant(t *testing.T, text string, kind secretKind) (string, *planter) {
	t.Helper()
	p := &planter{kind: kind}
	bare := func(place string) string {
		if !kind.bare {
			return "none"
		}
		return p.next(place)
	}
	funcs := template.FuncMap{
		"key":        func() string { return kind.key },
		"value":      func(place string) string { return scalar(p.next(place)) },
		"pair":       func(place string) string { return kind.key + ": " + scalar(p.next(place)) },
		"jsonPair":   func(place string) string { return strconv.Quote(kind.key) + ":" + strconv.Quote(p.next(place)) },
		"assign":     func(place string) string { return scalar(kind.key + "=" + p.next(place)) },
		"assignFlow": func(place string) string { return strconv.Quote(kind.key + "=" + p.next(place)) },
		"ini":        func(place string, indent int) string { return kind.key + " = " + lines(p.next(place), indent, "  ") },
		"text":       func(place string, indent int) string { return lines(p.next(place), indent, "  ") },
		"note":       func(place string, indent int) string { return kind.key + ": " + lines(p.next(place), indent, "# ") },
		"bare":       func(place string) string { return scalar(bare(place)) },
		"raw":        p.next,
		"plain":      func(place string) string { return strings.ReplaceAll(bare(place), "\n", `\n`) },
	}
	var b bytes.Buffer
	if err := template.Must(template.New("").Funcs(funcs).Parse(text)).Execute(&b, nil); err != nil {
		t.Fatal(err)
	}
	return b.String(), p
}

// marks returns the serials of the secrets in a text.
func marks(text string) map[int]bool {
	found := map[int]bool{}
	for _, m := range secretMark.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		found[n] = true
	}
	return found
}

// requireNone fails for every secret in what a command printed.
func (p *planter) requireNone(t *testing.T, printed, what string) {
	t.Helper()
	seen := map[int]bool{}
	for line := range strings.Lines(printed) {
		for n := range marks(line) {
			if !seen[n] {
				seen[n] = true
				t.Errorf("%s shows %s from %s:\n%s", what, p.kind.name, p.places[n], shorten(line, fmt.Sprintf("%04d", n)))
			}
		}
	}
}

// shorten keeps of a long line what is around a word.
func shorten(line, word string) string {
	const most = 100
	i := max(0, strings.Index(line, word)-most/2)
	return strings.TrimRight(line[i:min(len(line), i+most)], "\n")
}

// spelling is one way to write a cluster.
type spelling struct {
	name, file string
	write      func(t *testing.T, yaml string) string
	comments   bool // whether it keeps them
}

var spellings = []spelling{
	{"YAML", "cluster.yaml", func(_ *testing.T, s string) string { return s }, true},
	{"YAML with CRLF", "cluster.yaml", func(_ *testing.T, s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, true},
	{"JSON", "cluster.json", asJSON("  "), false},
	{"JSON on one line", "cluster.json", asJSON(""), false},
}

func asJSON(indent string) func(*testing.T, string) string {
	return func(t *testing.T, s string) string {
		t.Helper()
		text, err := sigsyaml.YAMLToJSON([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if indent == "" {
			return string(text) + "\n"
		}
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", indent); err != nil {
			t.Fatal(err)
		}
		return b.String() + "\n"
	}
}

// fewRuns are enough where only the spelling differs.
var fewRuns = [][]string{
	{"plan"}, {"plan", "-o", "json", "--end-state", transform.EndStateOverride},
	{"explain"}, {"explain", "-o", "json"}, {"lint"},
	with(unblocking(), "apply", "--dry-run", "--through", "--stage", transform.DisableLeaderMigration),
}

// everyRun returns every verb with every format, stage and choice, without the
// path, as far as it writes nothing. Single stages and choices take turns, so
// that each has its kinds of secrets.
func everyRun(turn int) [][]string {
	all := [][]string{
		{"plan"}, {"plan", "-o", "json"}, {"plan", "-o", "yaml"}, {"plan", "-o", "markdown"}, {"plan", "-o", "none"}, {"plan", "--stage", "none"},
		with(unblocking(), "plan", "--exit-code", "--distro", "rke2"),
		with(unblocking(), "plan", "-o", "json"),
		{"explain"}, {"explain", "-o", "json"}, {"explain", "-o", "yaml"},
		{"explain", "--key", "kube-controller-manager-arg"}, {"explain", "--key", "agent-token", "-o", "json"}, {"explain", "--key", "none"},
		{"lint"}, {"lint", "-o", "json"}, {"lint", "-o", "yaml"}, {"lint", "--fix", "--dry-run"},
		{"apply", "--next", "--dry-run"},
		{"apply", "--stage", transform.SwitchToExternal},              // refused: it is not its turn
		{"apply", "--stage", transform.SwitchToExternal, "--through"}, // blocked
	}
	for i, stage := range transform.StageNames() {
		if i%2 != turn%2 {
			continue
		}
		all = append(all,
			[]string{"plan", "--stage", stage},
			[]string{"plan", "--stage", stage, "-o", "json"},
			[]string{"explain", "--diff", stage},
		)
	}
	for _, stage := range transform.EditStageNames() {
		all = append(all,
			with(unblocking(), "apply", "--dry-run", "--through", "--stage", stage),
			[]string{"apply", "--dry-run", "--undo", stage},
			[]string{"apply", "--dry-run", "--undo", stage, "--through", "--canonical"},
		)
	}
	for i, choice := range everyChoice {
		if i%(len(everyChoice)/2) != turn%(len(everyChoice)/2) {
			continue
		}
		all = append(all,
			with(choice, "plan"), with(choice, "plan", "-o", "json"),
			with(choice, "explain", "--diff", transform.SwitchToExternal), with(choice, "lint"),
			with(append(unblocking(), choice...), "apply", "--dry-run", "--through", "--stage", transform.DisableLeaderMigration),
		)
	}
	return all
}

// everyChoice has all flags of choice, most of them with a value that is taken
// and one that is not.
var everyChoice = [][]string{
	{"--end-state", transform.EndStateOverride},
	{"--target-version", "v1.27.16+rke2r1"}, {"--target-version", "v1.28.15+rke2r1"}, {"--target-version", "none"},
	{"--end-state", transform.EndStateOverride, "--target-version", "v1.27.16+rke2r1"},
	{"--assume-version", "v1.24.17+rke2r1"},
	{"--no-leader-migration"}, {"--keep-leader-migration"}, {"--no-leader-migration", "--keep-leader-migration"},
	{"--cordon", transform.CordonAlways}, {"--cordon", transform.CordonNever},
	{"--chart-version", "0.0.9", "--chart-repo", "https://charts.example.com", "--ccm-image-repository", "registry.example.com/ccm", "--ccm-image-tag", "v1.26.5"},
	{"--chart-version", "latest"}, {"--ccm-image-tag", "v1.27.2"},
}

// with returns a command line with more flags.
func with(flags []string, command ...string) []string { return append(command, flags...) }

// unblocking choices let through every stage.
func unblocking() []string {
	flags := []string{"--end-state", transform.EndStateExternal}
	for _, rule := range []string{"cloud-config-lost", "args-overwritten", "value-erased"} {
		flags = append(flags, "--accept", rule)
	}
	return flags
}

// unredacted is what would be printed if nothing were redacted: the diffs and
// the configuration of every class.
func unredacted(t *testing.T, doc *yamledit.Document) string {
	t.Helper()
	var b strings.Builder
	for _, end := range []string{transform.EndStateExternal, transform.EndStateOverride} {
		plan, err := transform.Build(rke2.Distro(), doc, transform.Target{EndState: end})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Steps {
			b.WriteString(udiff.Unified("a", "b", string(s.Before.Bytes()), string(s.After.Bytes())))
			for _, f := range s.Findings {
				b.WriteString(f.Message + "\n")
			}
		}
	}
	classes, err := rke2.Distro().Explain(doc, transform.Target{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range classes {
		fmt.Fprintln(&b, c.Labels)
		for _, s := range c.Settings {
			fmt.Fprintln(&b, s.Key, s.Value, s.Why)
		}
	}
	return b.String()
}

// exposed are places whose secrets each verb would print if it did not redact
// them; the others are too far from an edit to be in a diff.
var exposed = []string{
	"a comment above the provider", "a comment beside the provider", "a comment below the provider",
	"a comment above an argument", "a comment beside an argument", "an argument of the manager",
	"an argument that is nothing else", "an argument with a blank", "a command in a comment",
	"a comment below an argument", "cloud-provider-config", "a harmless name in cloud-provider-config", "extra-env of the manager",
	"kubelet-arg", "agent-token", "an inline file", "a comment in an inline file",
	"extra-env in a flow list", "extra-env of a selector", "an argument of the manager in a selector",
	"a comment below an argument in a selector", "a ConfigMap", "a file in a ConfigMap",
	"the value of a selector", "a label of a pool", "a Secret in a List",
	"an argument of the kubelet", "an argument of the chart", "a comment between the chart's arguments",
	"the environment of the chart",
}

// TestNoOutputShowsASecret plants a secret of every kind in every place, runs
// every verb with every output format and stage, and looks for the secrets in
// all that is printed. What is written keeps them.
func TestNoOutputShowsASecret(t *testing.T) {
	for _, document := range []struct {
		name, text string
		fits       func(secretKind) bool // nil for every kind
	}{
		{"everywhere", secretCluster, nil},
		{"in labels", labelledCluster, func(k secretKind) bool { return labelValue.MatchString(k.make(0)) }},
		{"in Secrets inside of manifests", nestedSecrets, func(k secretKind) bool { return !k.bare }},
		{"beside the chart", charted, func(k secretKind) bool { return true }},
		{"without a name", flagged, func(k secretKind) bool { return !strings.ContainsAny(k.make(0), " \n") }},
	} {
		for k, kind := range secretKinds {
			if document.fits != nil && !document.fits(kind) {
				continue
			}
			for i, s := range spellings {
				if document.fits != nil && i%3 != 0 || testing.Short() && i > 0 {
					continue // the spellings make no difference to these
				}
				t.Run(document.name+"/"+kind.name+"/"+s.name, func(t *testing.T) {
					t.Parallel()
					text, p := plant(t, document.text, kind)
					text, file := s.write(t, text), filepath.Join(t.TempDir(), s.file)
					doc := parsePlanted(t, file, text)
					requirePlanted(t, p, s, text, doc)
					p.requireNone(t, string(redact.Document(doc)), "the redacted document")
					runs := fewRuns
					if i == 0 && document.fits == nil {
						runs = everyRun(k)
					}
					for _, args := range runs {
						p.run(t, text, with([]string{file}, args...))
					}
					if i == 0 && document.fits == nil {
						requireSafeFolder(t, p, file)
					}
					p.run(t, text, []string{"plan", "-"})
					requireText(t, file, text)
					requireKept(t, p, file, text)
				})
			}
		}
	}
}

// labelValue is what Kubernetes takes for the value of a label.
var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

func requireText(t *testing.T, file, want string) {
	t.Helper()
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("the file was changed, or is gone: %v", err)
	}
}

func parsePlanted(t *testing.T, file, text string) *yamledit.Document {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := yamledit.ParseString(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// requirePlanted makes sure that the test can fail: the secrets are there, and
// would be printed.
func requirePlanted(t *testing.T, p *planter, s spelling, text string, doc *yamledit.Document) {
	t.Helper()
	in, shown := marks(text), marks(unredacted(t, doc))
	oneLine := !strings.Contains(p.kind.make(0), "\n") // the others push each other out of the diffs
	for n, place := range p.places {
		isComment := strings.HasPrefix(place, "a comment") || strings.HasSuffix(place, "a comment")
		if !in[n] && (s.comments || !isComment) {
			t.Errorf("%s from %s is not in the input", p.kind.name, place)
		}
		if in[n] && !shown[n] && oneLine && slices.Contains(exposed, place) {
			t.Errorf("%s from %s would not be printed even if nothing were redacted", p.kind.name, place)
		}
	}
	if len(shown) == 0 {
		t.Errorf("%s would not be printed even if nothing were redacted", p.kind.name)
	}
}

// run runs a command line that writes nothing.
func (p *planter) run(t *testing.T, stdin string, args []string) ran {
	t.Helper()
	r := runHere(t, stdin, args...)
	p.requireNone(t, r.stdout, strings.Join(args, " "))
	p.requireNone(t, r.stderr, strings.Join(args, " ")+" on standard error")
	return r
}

// requireSafeFolder makes sure that in a folder of plans only the documents have
// secrets.
func requireSafeFolder(t *testing.T, p *planter, file string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plans")
	if r := p.run(t, "", []string{"plan", "--end-state", transform.EndStateExternal, "--out", out, file}); r.code != exitDone {
		t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	read := 0
	err := filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" && filepath.Ext(path) != ".diff" {
			return err
		}
		read++
		text, err := os.ReadFile(path)
		p.requireNone(t, string(text), e.Name())
		return err
	})
	if err != nil || read < 3 {
		t.Errorf("%d files were read: %v", read, err)
	}
	for _, args := range [][]string{{"--next"}, {"--stage", transform.DisableLeaderMigration, "--through"}, {"--undo", transform.SwitchToExternal}} {
		p.run(t, "", append(with(args, "apply", "--dry-run", "--plan", out), file))
	}
}

// requireKept makes sure that what is written has every secret as it was.
func requireKept(t *testing.T, p *planter, file, text string) {
	t.Helper()
	args := with(unblocking(), "--through", "--stage", transform.DisableLeaderMigration)
	printed := runHere(t, "", append(append([]string{"apply", "--stdout"}, args...), file)...)
	p.requireNone(t, printed.stderr, "apply --stdout on standard error")
	piped := runHere(t, text, append(append([]string{"apply"}, args...), "-")...)
	p.requireNone(t, piped.stderr, "apply - on standard error")
	written := p.run(t, "", append(append([]string{"apply"}, args...), file))
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []ran{printed, piped, written} {
		if r.code != exitDone {
			t.Fatalf("exit %d: %s", r.code, r.stderr)
		}
	}
	if string(after) == text {
		t.Error("nothing was written")
	}
	for _, out := range []string{string(after), printed.stdout, piped.stdout} {
		for n, place := range p.places {
			for _, part := range strings.Split(p.kind.make(n), "\n") {
				if had, has := strings.Count(text, part), strings.Count(out, part); had != has {
					t.Errorf("%s from %s stands %d times in what was written, not %d times", p.kind.name, place, has, had)
				}
			}
		}
	}
}

// provoking are parts of clusters that make a verb fail; each %s is a secret.
// A few of them are accepted after all, and print something else.
var provoking = []struct{ name, spec string }{
	{"a scalar for all of spec", "%s"},
	{"a scalar for rkeConfig", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: %s}"},
	{"a version that is none", "{kubernetesVersion: %s, rkeConfig: {}}"},
	{"a list for the version", "{kubernetesVersion: [%s], rkeConfig: {}}"},
	{"a scalar for the environment", "{agentEnvVars: %s}"},
	{"a mapping for a value of the environment", "{agentEnvVars: [{name: X_TOKEN, value: {token: %s}}]}"},
	{"a scalar for the pools", "{rkeConfig: {machinePools: %s}}"},
	{"a scalar for a pool", "{rkeConfig: {machinePools: [%s]}}"},
	{"a scalar for a number", "{rkeConfig: {machinePools: [{name: a, quantity: %s}]}}"},
	{"a scalar for a boolean", "{rkeConfig: {machinePools: [{name: a, etcdRole: %s}]}}"},
	{"a scalar for labels", "{rkeConfig: {machinePools: [{name: a, labels: %s}]}}"},
	{"a scalar for the configuration", "{rkeConfig: {machineGlobalConfig: %s}}"},
	{"a list for the configuration", "{rkeConfig: {machineGlobalConfig: [%s]}}"},
	{"a scalar for the selectors", "{rkeConfig: {machineSelectorConfig: %s}}"},
	{"a scalar for an entry", "{rkeConfig: {machineSelectorConfig: [%s]}}"},
	{"a scalar for an entry's configuration", "{rkeConfig: {machineSelectorConfig: [{config: %s}]}}"},
	{"a scalar for an entry's selector", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: %s}]}}"},
	{"a selector with an unknown operator", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: {matchExpressions: [{key: a, operator: %s}]}}]}}"},
	{"a selector with a value that is too long", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: {matchLabels: {token: '%s !'}}}]}}"},
	{"a selector with a key that is none", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: {matchLabels: {'%s !': a}}}]}}"},
	{"a selector with values that do not fit", "{rkeConfig: {machineSelectorConfig: [{machineLabelSelector: {matchExpressions: [{key: a, operator: Exists, values: [%s]}]}}]}}"},
	{"a scalar for the manifest", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: %s}}"},
	{"a mapping for the manifest", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: {token: %s}}}"},
	{"a manifest that is no YAML", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: \"token: %s\\nb: [\"}}"},
	{"a manifest with a key twice", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: \"token: %s\\ntoken: %s\\n\"}}"},
	{"a manifest on one line", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, additionalManifest: 'token: %s'}}"},
	{"a mapping for arguments", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws, kube-controller-manager-arg: {token: %s}}}}"},
	{"another provider", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: azure, token: %s}}}"},
	{"no provider", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {token: %s}}}"},
	{"a taint that the chart does not tolerate", "{kubernetesVersion: v1.26.15+rke2r1, rkeConfig: {machineGlobalConfig: {cloud-provider-name: aws}, machinePools: [{name: a, controlPlaneRole: true, etcdRole: true, quantity: 1, taints: [{key: example.com/x, value: '%s', effect: NoSchedule}]}]}}"},
	{"a cluster of K3s", "{kubernetesVersion: v1.26.15+k3s1, rkeConfig: {machineGlobalConfig: {token: %s}}}"},
	{"an imported cluster", "{agentEnvVars: [{name: X_TOKEN, value: %s}]}"},
	{"a key that stands twice beside it", "{token: %s, token: %s}"},
	{"a key that stands twice before it", "{a: 1, a: 2, token: %s}"},
	{"an anchor", "{rkeConfig: {machineGlobalConfig: {token: &a %s, agent-token: *a}}}"},
	{"a merge key", "{rkeConfig: {machineGlobalConfig: {<<: {token: %s}}}}"},
	{"a template", "{token: %s, rkeConfig: {{ .Values.rkeConfig }}}"},
	{"two colons", "\n  token: %s: x"},
	{"no colon", "\n  token\n  %s\n  x: y"},
	{"a quote that does not close", "\n  token: \"%s"},
	{"a quote that closes too early", "\n  token: \"a\"%s"},
	{"a single quote that does not close", "\n  token: '%s"},
	{"a bracket that does not close", "\n  token: [%s"},
	{"a brace that does not close", "\n  token: {%s"},
	{"an unknown escape", "\n  token: \"\\%s\""},
	{"a reserved character", "\n  token: @%s"},
	{"a percent sign", "\n  token: %%%s"},
	{"an asterisk, which makes it an alias", "\n  token: *%s"},
	{"an ampersand, which makes it an anchor", "\n  token: &%s\n  x: y: z"},
	{"an exclamation mark, which makes it a tag", "\n  token: !%s x"},
	{"a tag of another type", "\n  token: !!int %s"},
	{"text behind the header of a block", "\n  token: | %s"},
	{"a tab", "\n\ttoken: %s"},
	{"too little indentation", "\n  rkeConfig:\n    token: %s\n   x: y"},
	{"a control character", "\n  token: %s\x01"},
	{"a byte that is no UTF-8", "\n  token: %s\xff"},
	{"a NUL byte", "\n  token: %s\x00"},
	{"a SOPS file", "{rkeConfig: {machineGlobalConfig: {token: %s}}}\nsops: {mac: %s}"},
}

// TestNoErrorShowsASecret provokes errors beside secrets. Only those kinds are
// planted that fit into any syntax.
func TestNoErrorShowsASecret(t *testing.T) {
	for _, c := range provoking {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []secretKind{
				{"an AWS access key id", "", secretKinds[0].make, true},
				{"a token of GitHub", "", func(n int) string { return "ghp_" + fill(n, 36) }, true},
				{"a token", "", func(n int) string { return low(n, 12) }, false},
			} {
				p := &planter{kind: kind}
				text := "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: faulty, namespace: fleet-default}\nspec: " +
					p.fillIn(c.spec) + "\n"
				file := filepath.Join(t.TempDir(), "cluster.yaml")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, args := range provokingRuns() {
					p.run(t, text, with([]string{file}, args...))
				}
				p.run(t, text, []string{"plan", "-"})
				requireText(t, file, text)
			}
		})
	}
}

// fillIn puts secrets into the text of a provoked error.
func (p *planter) fillIn(spec string) string {
	secrets := make([]any, strings.Count(strings.ReplaceAll(spec, "%%", ""), "%s"))
	for i := range secrets {
		secrets[i] = p.next("the input")
	}
	return fmt.Sprintf(spec, secrets...)
}

func provokingRuns() [][]string {
	return [][]string{
		{"plan"}, {"plan", "-o", "json"}, {"plan", "--assume-version", "v1.26.15+rke2r1"}, {"plan", "--distro", "rke2"},
		{"explain"}, {"explain", "-o", "json"}, {"explain", "--diff", transform.SwitchToExternal},
		{"apply", "--next", "--dry-run"}, {"apply", "--stage", transform.SwitchToExternal, "--dry-run"},
		{"apply", "--undo", transform.SwitchToExternal, "--dry-run"},
		{"plan", "--end-state", transform.EndStateOverride, "--target-version", "v1.27.16+rke2r1"}, {"plan", "--no-leader-migration"},
		{"lint"}, {"lint", "-o", "json"}, {"lint", "--fix", "--dry-run"},
	}
}

// TestErrorsAreProvoked makes sure that the errors above are errors, and that
// none of them is about the file as such.
func TestErrorsAreProvoked(t *testing.T) {
	harmless := []string{"an exclamation mark, which makes it a tag", "a tag of another type", "an ampersand, which makes it an anchor"}
	for _, c := range provoking {
		t.Run(c.name, func(t *testing.T) {
			p := &planter{kind: secretKinds[0]}
			text := "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nspec: " + p.fillIn(c.spec) + "\n"
			if len(marks(text)) == 0 {
				t.Fatal("no secret in the input")
			}
			r := runHere(t, text, "plan", "-")
			if r.code == exitDone {
				t.Errorf("exit 0:\n%s%s", r.stdout, r.stderr)
			}
			if strings.Contains(r.stderr, "no cluster was found") && !slices.Contains(harmless, c.name) {
				t.Errorf("the cluster was not even looked at: %s", r.stderr)
			}
		})
	}
}

// TestNothingIsLeftBehindThatHoldsASecret looks for files beside the one that
// was written, or was not.
func TestNothingIsLeftBehindThatHoldsASecret(t *testing.T) {
	text, p := plant(t, secretCluster, secretKinds[0])
	folder := t.TempDir()
	file := filepath.Join(folder, "cluster.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--next"}, {"--next"}, {"--next"}, {"--stage", transform.SwitchToExternal}, {"--undo", transform.InstallCCM}, {"--next", "--dry-run"}} {
		p.run(t, "", append(append([]string{"apply"}, args...), file))
	}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && path != file {
			err = errors.New(path + " was left behind")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode changed: %v, %v", info.Mode(), err)
	}
}
