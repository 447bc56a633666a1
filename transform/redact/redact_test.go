// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func redacted(t *testing.T, text string) string {
	t.Helper()
	d := assert.Value(yamledit.ParseString("in.yaml", text))(t)
	out := Document(d)
	assert.Equal(t, strings.Count(out, "\n"), strings.Count(text, "\n"), "the lines changed", out)
	return out
}

// hidesSecret fails the test where the secret of a document is shown.
func hidesSecret(t *testing.T, text string) {
	t.Helper()
	out := redacted(t, text)
	assert.True(t, !strings.Contains(out, "hunter2"), out)
}

func TestDocumentHidesSecretsAndKeepsTheRest(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a password by its key", "password: hunter2 # why\n", "password: <redacted> # why\n"},
		{"quotes stay", "a:\n  secretKey: \"x y\"\n", "a:\n  secretKey: \"<redacted>\"\n"},
		{"the name of a secret is none", "cloudCredentialSecretName: cattle:cc-x\n", "cloudCredentialSecretName: cattle:cc-x\n"},
		{"a switch is none", "automountServiceAccountToken: false\n", "automountServiceAccountToken: false\n"},
		{"a block of lines", "privateKey: |\n  one\n  two\nb: 1\n", "privateKey: |\n  <redacted>\n  <redacted>\nb: 1\n"},
		{"an environment variable by its name", "env:\n  - name: MY_TOKEN\n    value: abc\n  - name: LEVEL\n    value: info\n", "env:\n  - name: MY_TOKEN\n    value: <redacted>\n  - name: LEVEL\n    value: info\n"},
		{"an assignment in a list of arguments", "a: [LEVEL=info, AWS_SECRET_ACCESS_KEY=abc]\n", "a: [LEVEL=info, AWS_SECRET_ACCESS_KEY=<redacted>]\n"},
		{"the value after a flag", "a: [--token, abc, --v, '2']\n", "a: [--token, <redacted>, --v, '2']\n"},
		{"an assignment in a comment", "a: 1 # old token: abcdef\n", "a: 1 # old token: <redacted>\n"},
		{"an access key by its shape", "a: x=AKIAEXAMPLEEXAMPLE00\n", "a: x=<redacted>\n"},
		{"the password of a URL", "a: https://u:pw@example.com/x\n", "a: https://u:<redacted>@example.com/x\n"},
		{"a private key", "a: |\n  -----BEGIN RSA PRIVATE KEY-----\n  abc\n  -----END RSA PRIVATE KEY-----\nb: 1\n", "a: |\n  <redacted>\n  <redacted>\n  <redacted>\nb: 1\n"},
		{"the data of an embedded Secret, and nothing else of it", "m: |-\n  kind: ConfigMap\n  data:\n    a: b\n  ---\n  kind: Secret\n  metadata:\n    name: n\n  data:\n    a: b\n", "m: |-\n  kind: ConfigMap\n  data:\n    a: b\n  ---\n  kind: Secret\n  metadata:\n    name: n\n  data:\n    a: <redacted>\n"},
		{"an embedded Secret in a quoted line", `m: "kind: Secret\ndata:\n  a: b\n"` + "\n", `m: "kind: Secret\ndata:\n  a: <redacted>\n"` + "\n"},
		{"a folded string with a Secret, as a whole", "m: >\n  kind: Secret\n\n  data: {a: b}\nb: 1\n", "m: >\n  <redacted>\n\n  <redacted>\nb: 1\n"},
		{"a provider's configuration", "cloud-provider-config: |\n  [Global]\n  Zone = eu-west-1a\n  KubernetesClusterID = a\n  Tag = x\n", "cloud-provider-config: |\n  [Global]\n  Zone = eu-west-1a\n  KubernetesClusterID = a\n  Tag = <redacted>\n"},
		{"a provider's configuration with credentials", "cloud-provider-config: |\n  [Global]\n  KeyId = a\n  # Old: b\n  c\n", "cloud-provider-config: |\n  [Global]\n  KeyId = <redacted>\n  <redacted>\n  <redacted>\n"},
		{"a reference to a provider's configuration is none", "cloud-provider-config: secret://ns:name\n", "cloud-provider-config: secret://ns:name\n"},
		{"a path is none", "a: [service-account-signing-key-file=/etc/x.key, token-auth-file=/etc/t]\n", "a: [service-account-signing-key-file=/etc/x.key, token-auth-file=/etc/t]\n"},
		{"a hash in hex is none", "image: x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", "image: x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"},
		{"RBAC on secrets and tokens is none", "rules:\n  - resources: [secrets, tokenreviews]\n    verbs: [get]\n", "rules:\n  - resources: [secrets, tokenreviews]\n    verbs: [get]\n"},
		{"the Secret that a volume mounts is named, what is at the level of is not", "secret:\n  secretName: n\n  password: p\n", "secret:\n  secretName: n\n  password: <redacted>\n"},
		{"the data of a Secret may have any name", "kind: Secret\nstringData:\n  secretName: hunter2\n", "kind: Secret\nstringData:\n  secretName: <redacted>\n"},
		{"JSON", `{"token": "abc", "b": "c"}`, `{"token": "<redacted>", "b": "c"}`},
	} {
		assert.Equal(t, redacted(t, c.in), c.want, c.name)
	}
}

func TestValueHidesSecretsInConfiguration(t *testing.T) {
	for _, c := range []struct {
		key     string
		v, want any
	}{
		{"token", "abc", Mark},
		{"cloud-provider-config", "[Global]", Mark},
		{"cloud-provider-config", "secret://a:b", "secret://a:b"},
		{"datastore-endpoint", "postgres://u:pw@db/x", "postgres://u:" + Mark + "@db/x"},
		{"kubelet-arg", "v=2", "v=2"},
		{"protect-kernel-defaults", true, true},
	} {
		assert.Equal(t, Value(c.key, c.v), c.want, c.key, c.v)
	}
	list := Value("etcd-extra-env", []any{"AWS_SECRET_ACCESS_KEY=abc", "A=b"}).([]any)
	assert.Truef(t, list[0] == "AWS_SECRET_ACCESS_KEY="+Mark && list[1] == "A=b", "got %v", list)
}

func TestABlockWithAKeyIsHiddenWhole(t *testing.T) {
	for _, block := range []string{
		"-----BEGIN RSA PRIVATE KEY-----\nhidden\n-----END RSA PRIVATE KEY-----",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nhidden\n-----END PGP PRIVATE KEY BLOCK-----",
		"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\nhidden\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
		"-----BEGIN OpenVPN Static key V1-----\nhidden\n-----END OpenVPN Static key V1-----",
		"PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\nhidden\nPrivate-MAC: 0f1e2d3c4b5a69788796a5b4c3d2e1f0hidden",
	} {
		quoted := assert.Value(json.Marshal(block))(t)
		for _, text := range []string{
			"a: |\n  " + strings.ReplaceAll(block, "\n", "\n  ") + "\nb: kept\n",
			"a: " + string(quoted) + "\nb: kept\n",
			"# " + strings.ReplaceAll(block, "\n", "\n# ") + "\nb: kept\n",
		} {
			out := redacted(t, text)
			assert.True(t, !strings.Contains(out, "hidden") && strings.Contains(out, "b: kept"), out)
		}
	}
	public := "a: |\n  -----BEGIN CERTIFICATE-----\n  abcd\n  -----END CERTIFICATE-----\n"
	assert.Equal(t, redacted(t, public), public)
}

func TestWhatANameNextToItMakesASecretIsHidden(t *testing.T) {
	for in, want := range map[string]string{
		"etcd: {ca_cert: x, cert: y, key: hunter2x, path: /etcd}\n":           "etcd: {ca_cert: x, cert: y, key: <redacted>, path: /etcd}\n",
		"etcd:\n  cert: y\n  key: |\n    hunter2x\n":                          "etcd:\n  cert: y\n  key: |\n    <redacted>\n",
		"taints: [{key: a, value: b, effect: NoSchedule}]\n":                  "taints: [{key: a, value: b, effect: NoSchedule}]\n",
		"args: [mysql, -p, hunter2x]\n":                                       "args: [mysql, -p, <redacted>]\n",
		"args: [\"mysql\", \"-p\", \"hunter2x\"]\n":                           "args: [\"mysql\", \"-p\", \"<redacted>\"]\n",
		"args: [mysql, -p]\n":                                                 "args: [mysql, -p]\n",
		"run: mysql -phunter2x db\n":                                          "run: mysql -p<redacted> db\n",
		"args: [-p, '8080:80', -p, 10.0.0.1:53:53/udp, -p, tcp, -p, --all]\n": "args: [-p, '8080:80', -p, 10.0.0.1:53:53/udp, -p, tcp, -p, --all]\n",
		"run: tool -p hunter2x -v\n":                                          "run: tool -p <redacted> -v\n",
		"run: ssh -p 2222 host && mkdir -p a/b\n":                             "run: ssh -p 2222 host && mkdir -p a/b\n",
		"env: [AWS_REGION, DB_PASSWORD, DB_TOKEN]\n":                          "env: [AWS_REGION, DB_PASSWORD, DB_TOKEN]\n",
		"resources: [secrets, tokenreviews, configmaps]\n":                    "resources: [secrets, tokenreviews, configmaps]\n",
		"a: |\n  requirepass hunter2x\n  maxmemory 2gb\n":                     "a: |\n  requirepass <redacted>\n  maxmemory 2gb\n",
		"init: |\n  #cloud-config\n  chpasswd: {list: 'root:hunter2x'}\n":     "init: |\n  #cloud-config\n  chpasswd: {list: '<redacted>'}\n",
		"id: aws:///eu-west-1a/i-0abc1234def567890?a=hunter2x\n":              "id: aws:///eu-west-1a/i-0abc1234def567890?<redacted>\n",
	} {
		assert.Equal(t, redacted(t, in), want)
	}
	for in, want := range map[string]string{
		"kubeadm join --token abcdef.0123456789abcdef 10.0.0.1:6443":            "kubeadm join --token <redacted> 10.0.0.1:6443",
		"joined with q1w2e3.0a1b2c3d4e5f6a7b, once":                             "joined with <redacted>, once",
		"secretName: abcdef.internal-1":                                         "secretName: abcdef.internal-1",
		"host worker.internalnetworks":                                          "host worker.internalnetworks",
		"<property><name>db.password</name><value>hunter2x</value></property>":  "<property><name>db.password</name><value><redacted></value></property>",
		"<property><name>secretName</name><value>registry</value></property>":   "<property><name>secretName</name><value>registry</value></property>",
		"app:hunter2x@tcp(db.example.com:3306)/orders?parseTime=true":           "app:<redacted>@tcp(db.example.com:3306)/orders?parseTime=true",
		"post to https://events.pagerduty.com/integration/0a1b2c3d4e5f/enqueue": "post to https://<redacted>",
		"post to https://hooks.zapier.com/hooks/catch/1234567/a1b2c3d":          "post to https://<redacted>",
		"curl https://hc-ping.com/6c1f2a34-5b6d-4e7f-8a9b-0c1d2e3f4a5b":         "curl https://<redacted>",
		"echo hunter2x | docker login -u robot --password-stdin":                "echo <redacted> | docker login -u robot --password-stdin",
		"echo \"$TOKEN\" | docker login -u robot --password-stdin":              "echo \"$TOKEN\" | docker login -u robot --password-stdin",
		"echo 'root:hunter2x' | chpasswd":                                       "echo <redacted> | chpasswd",
		"chpasswd <<< root:hunter2x":                                            "chpasswd <<< <redacted>",
		"htpasswd -nbB admin hunter2x > auth":                                   "htpasswd -nbB admin <redacted> > auth",
		"htpasswd -b /etc/auth admin hunter2x":                                  "htpasswd -b /etc/auth admin <redacted>",
		"htpasswd -c /etc/auth admin":                                           "htpasswd -c /etc/auth admin",
		"kubectl --kubeconfig=/home/op/prod.yaml get nodes":                     "kubectl --kubeconfig=/home/op/prod.yaml get nodes", // a file
		"kubectl --kubeconfig prod.yaml get nodes":                              "kubectl --kubeconfig prod.yaml get nodes",
		"run: kubectl --context=prod --kubeconfig='my file' taint node a":       "run: kubectl --context=prod --kubeconfig='my file' taint node a",
		"kubeconfig: hidden-kubeconfig-1":                                       "kubeconfig: <redacted>",
		"KUBECONFIG=hidden-kubeconfig-1":                                        "KUBECONFIG=<redacted>",
		"token expired":                                                         "token expired", // a message
	} {
		assert.Equal(t, Text(in), want, in)
	}
}

// Each is a string whose only content, as YAML, is a string again.
var ownStrings = []string{
	"a: \"b\\u2028\\nc\"\n",
	"a: \"b\\u2029\\nc\"\n",
	"a: \"b\\x85\\nc\"\n",
	"a: |\n  pasted text\u2028\n  more\n",
	"a: |\n  pasted text\u2029\n\n  more\n",
	"a: >\n  pasted\u2028\n\n  more\n",
	"a: 'b\u2028\n\n  c'\n",
	"a: |\n  'b\u2028\n\n  c'\n",
	"a: |\n  --- |\n    b\n",
	"a: |\n  \"b\\nc\"\n",
}

func TestAStringThatIsItsOwnDocumentEnds(t *testing.T) {
	for _, text := range ownStrings {
		redacted(t, text)
		if d, err := yamledit.ParseString("", text); err == nil {
			Value("a", d.Root().Value())
		}
	}
}

func TestWhatIsTooDeepToBeReadIsHidden(t *testing.T) {
	text := "note: hunter2\n"
	for range yamledit.MaxEmbedding + 2 {
		text = "a: |\n " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n ") + "\n"
	}
	hidesSecret(t, text)
	flow := "a: |\n  " + strings.Repeat("[", yamledit.MaxNesting+9) + "hunter2" + strings.Repeat("]", yamledit.MaxNesting+9) + "\n"
	hidesSecret(t, flow)
	out := Value("a", strings.TrimPrefix(flow, "a: |\n")+"\n").(string)
	assert.True(t, !strings.Contains(out, "hunter2"), out)
}

// TestWhatOnlyRefersToASecretStaysReadable: the lines name a secret, describe one, or look like one from afar, and the
// arguments are ordinary ones of Kubernetes' components. A reviewer needs them.
func TestWhatOnlyRefersToASecretStaysReadable(t *testing.T) {
	linesOf := func(file string) []string {
		text := assert.Value(os.ReadFile("testdata/" + file))(t)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	lines := linesOf("readable.txt")
	for _, a := range linesOf("arguments.txt") {
		lines = append(lines, `kube-apiserver-arg: ["`+a+`"]`, "kube-apiserver-arg:\n    - "+a)
		assert.Equal[any](t, Value("kube-apiserver-arg", []any{a}).([]any)[0], a, "a value")
		assert.Equal(t, Text(a), a, "a message")
	}
	for _, line := range lines {
		text := "x:\n  " + line + "\n  y: 1\n"
		assert.Equal(t, redacted(t, text), text)
	}
}
