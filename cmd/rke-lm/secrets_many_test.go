// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// namesOfSecrets are keys under which people keep secrets. Their values have no form
// of their own.
var namesOfSecrets = []string{
	"password", "PASSWORD", "Password", "passwd", "pass", "DB_PASS", "dbPass", "smtp_pass", "userpass", "pwd", "DbPwd", "mysql-root-password", "PGPASSWORD", "passphrase", "passcode",
	"secret", "clientSecret", "client_secret", "CLIENT-SECRET", "secretKey", "SECRET_KEY_BASE", "jwtSecret", "webhookSecret", "secret_id", "token", "agentToken", "BOT_TOKEN", "refresh_token", "id-token", "accessToken",
	"apiKey", "api_key", "API-KEY", "x-api-key", "appKey", "accessKey", "access_key_id", "accountKey", "AZURE_STORAGE_KEY", "storageKey", "sharedAccessKey", "SharedKey", "encryptionKey", "ENCRYPTION_KEY", "signingKey", "signing_key",
	"masterKey", "privateKey", "private_key", "sshKey", "ssh_cert", "sessionKey", "hmacKey", "licenseKey", "unsealKey", "recovery_key", "psk", "ipsec_psk", "preSharedKey",
	"creds", "db-creds", "credential", "credentials", "credentialsJson", "authorization", "Authorization", "auth", "basicAuth", "dockerconfigjson", ".dockerconfigjson", "dockerConfigJson", "kubeconfig", "connectionString", "CONNECTION_STRING", "connStr",
	"htpasswd", "netrc", "pgpass", "jwt", "otp", "cookie", "session_cookie", "trust-id", "bearer", "client-key-data", "htpasswdEntry",
	"passwort", "mot_de_passe", "contraseña", "senha", "wachtwoord", "hasło", "parola", "пароль", "密码", "パスワード",
}

// formsOfNames write a key and its value, each on lines of its own.
var formsOfNames = []struct {
	name  string
	write func(key, value string) string
}{
	{"YAML", func(k, v string) string { return k + ": " + v }},
	{"YAML with quotes", func(k, v string) string { return fmt.Sprintf("%q: '%s'", k, v) }},
	{"a flow mapping", func(k, v string) string { return fmt.Sprintf("x: {a: b, %q: %s, c: d}", k, v) }},
	{"a block", func(k, v string) string { return k + ": |\n  first\n  " + v }},
	{"a list", func(k, v string) string { return k + ":\n  - " + v + "\n  - " + v }},
	{"JSON in a string", func(k, v string) string { return "x: " + asString(asString(map[string]any{"a": map[string]any{k: v}})) }},
	{"JSON in JSON in a string", func(k, v string) string {
		return "x: " + asString(asString(map[string]any{"a": asString(map[string]any{k: v, "z": "y"})}))
	}},
	{"JSON in single quotes", func(k, v string) string {
		return "x: '" + asString(map[string]any{"a": []any{map[string]any{k: v}}}) + "'"
	}},
	{"JSON with a break in a string", func(k, v string) string { return "x: " + asString(asString(map[string]any{k: v})+"\n") }},
	{"JSON that is cut off", func(k, v string) string { return "x: " + asString(`{"a": {`+strconv.Quote(k)+`: "`+v+`", "b": [`) }},
	{"an INI file", func(k, v string) string { return "x: |\n  [Global]\n  a = b\n  " + k + " = " + v }},
	{"a TOML file", func(k, v string) string { return "x: |\n  [a.b]\n  c = 1\n  " + k + " = \"" + v + "\"" }},
	{"a TOML file with a text", func(k, v string) string {
		return "x: |\n  c = 1\n  " + k + " = \"\"\"\n  a\n  " + v + "\n  \"\"\"\n  d = 2"
	}},
	{"a properties file", func(k, v string) string {
		return "app.properties: |\n  a=b\n  my." + strings.TrimPrefix(k, ".") + "=" + v
	}},
	{"an XML file", func(k, v string) string { return "x: |\n  <a>\n    <" + k + ">" + v + "</" + k + ">\n  </a>" }},
	{"an attribute of XML", func(k, v string) string { return "x: |\n  <add key=\"" + k + "\" value=\"" + v + "\"/>" }},
	{"a script", func(k, v string) string { return "x: |\n  #!/bin/sh\n  export " + k + "=" + v + "\n  run \\\n    --a" }},
	{"a variable of the environment", func(k, v string) string { return "env:\n  - name: " + strconv.Quote(k) + "\n    value: " + v }},
	{"an assignment in a list", func(k, v string) string { return "x:\n  - " + strconv.Quote(k+"="+v) }},
	{"a header", func(k, v string) string { return "x: " + strconv.Quote("curl -H '"+k+": "+v+"' https://example.com/") }},
	{"a comment", func(k, v string) string { return "# " + k + ": " + v + "\nx: 1" }},
	{"a comment after a value", func(k, v string) string { return "x: 1 # " + k + "=" + v }},
	{"a comment of several lines", func(k, v string) string { return "# " + k + ": |\n#   first\n#   " + v + "\nx: 1" }},
	{"a variable in a comment", func(k, v string) string { return "# - name: " + k + "\n#   value: " + v + "\nx: 1" }},
	{"JSON in a comment", func(k, v string) string { return "# {\"a\": 1, " + strconv.Quote(k) + ": \"" + v + "\"}\nx: 1" }},
}

func asString(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// tokens are kinds of secrets that show by their form. They are put together here,
// so that no text of this file is one.
var tokens = []struct {
	name string
	make func(n int) string
}{
	{"an access key of AWS", func(n int) string { return "AK" + "IA" + strings.ToUpper(fill(n, 16)) }},
	{"an access key of a session", func(n int) string { return "AS" + "IA" + strings.ToUpper(fill(n, 16)) }},
	{"a secret access key", func(n int) string { return fill(n, 22) + "/" + fill(n, 17) }},
	{"a token of GitHub", func(n int) string { return "gh" + "p_" + fill(n, 36) }},
	{"a token of an app of GitHub", func(n int) string { return "gh" + "s_" + fill(n, 36) }},
	{"a token of GitLab", func(n int) string { return "gl" + "pat-" + fill(n, 20) }},
	{"a token for deployments of GitLab", func(n int) string { return "gl" + "dt-" + fill(n, 20) }},
	{"a token of a runner of GitLab", func(n int) string { return "gl" + "rt-" + fill(n, 20) }},
	{"a token of Bitbucket", func(n int) string { return "AT" + "BB" + fill(n, 32) }},
	{"a token of Atlassian", func(n int) string { return "ATA" + "TT3" + fill(n, 60) }},
	{"a token of a bot of Slack", func(n int) string { return "xo" + "xb-" + "1234567890-" + fill(n, 24) }},
	{"a token of an app of Slack", func(n int) string { return "xa" + "pp-1-" + fill(n, 40) }},
	{"a webhook of Slack", func(n int) string { return "https://hooks.sl" + "ack.com/services/T0/B0/" + fill(n, 24) }},
	{"a webhook of Discord", func(n int) string { return "https://discord.com/api/web" + "hooks/1234/" + fill(n, 40) }},
	{"a webhook of Teams", func(n int) string {
		return "https://x.webhook.off" + "ice.com/webhookb2/" + low(n, 36) + "@x/IncomingWebhook/" + low(n, 32)
	}},
	{"a key of Stripe", func(n int) string { return "sk_" + "live_" + fill(n, 24) }},
	{"a key of SendGrid", func(n int) string { return "S" + "G." + fill(n, 22) + "." + fill(n, 43) }},
	{"a key of Google", func(n int) string { return "AI" + "za" + fill(n, 35) }},
	{"a secret of a client of Google", func(n int) string { return "GOC" + "SPX-" + fill(n, 28) }},
	{"a token of npm", func(n int) string { return "np" + "m_" + fill(n, 36) }},
	{"a token of PyPI", func(n int) string { return "py" + "pi-" + fill(n, 60) }},
	{"a token of Docker Hub", func(n int) string { return "dckr_" + "pat_" + fill(n, 27) }},
	{"a key of Artifactory", func(n int) string { return "AK" + "Cp" + fill(n, 60) }},
	{"a token of Vault", func(n int) string { return "hv" + "s." + fill(n, 90) }},
	{"an old token of Vault", func(n int) string { return "s" + "." + fill(n, 24) }},
	{"a token of DigitalOcean", func(n int) string { return "dop" + "_v1_" + low(n, 64) }},
	{"a token of Grafana", func(n int) string { return "gl" + "sa_" + fill(n, 32) + "_" + low(n, 8) }},
	{"a key of New Relic", func(n int) string { return "NR" + "AK-" + strings.ToUpper(fill(n, 27)) }},
	{"a token of Sentry", func(n int) string { return "snt" + "rys_" + fill(n, 60) }},
	{"a token of Databricks", func(n int) string { return "da" + "pi" + low(n, 32) }},
	{"a token of Doppler", func(n int) string { return "dp" + ".pt." + fill(n, 43) }},
	{"a token of Dynatrace", func(n int) string { return "dt0" + "c01." + fill(n, 24) + "." + fill(n, 64) }},
	{"a key of Hugging Face", func(n int) string { return "h" + "f_" + fill(n, 34) }},
	{"a key of OpenAI", func(n int) string { return "sk" + "-proj-" + fill(n, 48) }},
	{"a key of Anthropic", func(n int) string { return "sk" + "-ant-api03-" + fill(n, 90) }},
	{"a token of Shopify", func(n int) string { return "shp" + "at_" + low(n, 32) }},
	{"a token of Linear", func(n int) string { return "lin_" + "api_" + fill(n, 40) }},
	{"a token of Fly", func(n int) string { return "fo" + "1_" + fill(n, 43) }},
	{"a key of age", func(n int) string { return "AGE-SEC" + "RET-KEY-1" + strings.ToUpper(fill(n, 58)) }},
	{"a token of Rancher", func(n int) string { return "tok" + "en-" + low(n, 6)[1:] + ":" + low(n, 54) }},
	{"a token of a kubeconfig", func(n int) string { return "kube" + "config-u-" + low(n, 6) + ":" + low(n, 54) }},
	{"a token of RKE2", func(n int) string { return "K" + "10" + low(n, 64) + "::server:" + low(n, 32) }},
	{"a JWT", func(n int) string { return "ey" + "J" + fill(n, 30) + "." + fill(n, 40) + "." + fill(n, 30) }},
	{"a token of OpenShift", func(n int) string { return "sha" + "256~" + fill(n, 43) }},
	{"a hash of bcrypt", func(n int) string { return "$2" + "y$10$" + fill(n, 53) }},
	{"a hash of SHA-512", func(n int) string { return "$6" + "$salt$" + fill(n, 86) }},
	{"a hash of Apache", func(n int) string { return "$ap" + "r1$salt$" + fill(n, 22) }},
	{"the password of a URL", func(n int) string { return "postgres://app:" + low(n, 12) + "@db.example.com:5432/app" }},
	{"a token for the user of a URL", func(n int) string { return "https://" + low(n, 18) + "@git.example.com/a/b.git" }},
	{"the signature of a URL", func(n int) string {
		return "https://a.blob.core.windows.net/b?sv=2022-11-02&sig=" + fill(n, 30) + "%3D"
	}},
	{"the signature of a URL of S3", func(n int) string {
		return "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=" + low(n, 30)
	}},
	{"the token of a URL", func(n int) string { return "https://api.example.com/v1?access_token=" + low(n, 12) + "&page=1" }},
	{"a bearer", func(n int) string { return "Bearer " + low(n, 30) }},
	{"basic credentials", func(n int) string { return "Basic " + fill(n, 24) + "==" }},
	{"the password of curl", func(n int) string { return "curl -fsS -u admin:" + low(n, 12) + " https://example.com/" }},
	{"the user of curl", func(n int) string { return "curl --user admin:" + low(n, 12) + " https://example.com/" }},
	{"the password of docker", func(n int) string { return "docker login -u puller -p " + low(n, 12) + " registry.example.com" }},
	{"the password of sshpass", func(n int) string { return "sshpass -p '" + low(n, 12) + "' ssh host" }},
	{"the password of mysql", func(n int) string { return "mysql -h db -p" + low(n, 12) + " app" }},
	{"a flag", func(n int) string { return "helm registry login --username a --password " + low(n, 12) }},
	{"a password as people make them", func(n int) string { return "Q" + low(n, 6) + "!#7" }},
	{"random letters and digits", func(n int) string { return fill(n, 32) }},
	{"random letters and digits in lower case", func(n int) string { return low(n, 36) }},
	{"a .netrc", func(n int) string { return "machine git.example.com login ci password " + low(n, 12) }},
	{"a .pgpass", func(n int) string { return "db.example.com:5432:app:admin:" + low(n, 12) }},
	{"an authorization in a header", func(n int) string { return "curl -H 'Authorization: Token " + low(n, 18) + "' https://example.com" }},
	{"a connection string", func(n int) string { return "Server=db;User=a;Password=" + low(n, 12) + ";Encrypt=true" }},
	{"a key of a storage account", func(n int) string {
		return "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + fill(n, 60) + "==;EndpointSuffix=x"
	}},
}

// formsOfTokens write a secret that is known by its form where nothing is named.
var formsOfTokens = []struct {
	name  string
	write func(v string) string
}{
	{"a value", func(v string) string { return "note: " + strconv.Quote(v) }},
	{"a list", func(v string) string { return "notes:\n  - " + strconv.Quote(v) }},
	{"a block", func(v string) string { return "note: |\n  first\n  " + v + "\n  last" }},
	{"a string of several lines", func(v string) string { return "note: " + asString("first\n"+v+"\nlast") }},
	{"JSON in a string", func(v string) string { return "note: " + asString(asString(map[string]any{"a": []any{v}})) }},
	{"a comment", func(v string) string { return "# " + v + "\nx: 1" }},
	{"a folded text", func(v string) string { return "note: >-\n  first\n  " + v }},
}

// formsOfSecrets are manifests of Secrets.
var formsOfSecrets = []struct {
	name  string
	write func(key, value string) string
}{
	{"a Secret", func(k, v string) string {
		return "m: |\n  apiVersion: v1\n  kind: Secret\n  stringData:\n    " + k + ": " + v
	}},
	{"a Secret in JSON", func(k, v string) string {
		return "m: " + asString(asString(map[string]any{"kind": "Secret", "apiVersion": "v1", "data": map[string]any{k: v}}))
	}},
	{"a SecretList", func(k, v string) string {
		return "m: |\n  kind: SecretList\n  items:\n    - metadata: {name: a}\n      data:\n        " + k + ": " + v
	}},
	{"a SecretList in JSON", func(k, v string) string {
		return "m: " + asString(asString(map[string]any{"kind": "SecretList", "items": []any{map[string]any{"stringData": map[string]any{k: v}}}}))
	}},
	{"a List", func(k, v string) string {
		return "m: |\n  kind: List\n  items:\n    - kind: Secret\n      data:\n        " + k + ": " + v
	}},
	{"a Secret that is commented out", func(k, v string) string {
		return "m: |\n  # kind: Secret\n  # data:\n  #   " + k + ": " + v + "\n  a: 1"
	}},
	{"data that is commented out", func(k, v string) string {
		return "m: |\n  kind: Secret\n  stringData:\n    a: b\n    # " + k + ": " + v + "\n  type: Opaque"
	}},
	{"a Secret in a comment", func(k, v string) string {
		return "# old:\n#   kind: Secret\n#   type: Opaque\n#   stringData:\n#     " + k + ": |\n#       " + v + "\nx: 1"
	}},
	{"a Secret that is not YAML", func(k, v string) string {
		return "m: |\n  kind: Secret\n  data:\n    " + k + ": " + v + "\n  {{ end }}\n   x: ["
	}},
}

// manySecrets returns snippets of YAML with one secret each.
func manySecrets() (snippets []string, p *planter) {
	p = &planter{kind: secretKind{name: "the secret"}}
	add := func(place string, write func(n int) string) {
		n := len(p.places)
		p.places = append(p.places, place)
		snippets = append(snippets, write(n))
	}
	for i, key := range namesOfSecrets {
		for j, form := range formsOfNames {
			if strings.Contains(form.name, "XML") && strings.HasPrefix(key, ".") || (i+j)%2 == 1 {
				continue
			}
			add(key+" in "+form.name, func(n int) string { return form.write(key, low(n, 12)) })
		}
	}
	for _, token := range tokens {
		for _, form := range formsOfTokens {
			add(token.name+" in "+form.name, func(n int) string { return form.write(token.make(n)) })
		}
	}
	for _, key := range []string{"a", "config.json", "secretName"} {
		for _, form := range formsOfSecrets {
			add(key+" in "+form.name, func(n int) string { return form.write(key, low(n, 12)) })
		}
	}
	return snippets, p
}

// clusterWith returns a cluster with each snippet in a mapping of its own, in the
// machine configuration next to what the stages edit.
func clusterWith(snippets []string) string {
	var b strings.Builder
	b.WriteString("apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata:\n  name: many\n  namespace: fleet-default\nspec:\n" +
		"  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n    machineGlobalConfig:\n      cloud-provider-name: aws\n")
	for i, s := range snippets {
		fmt.Fprintf(&b, "      audit-policy-file-%d:\n        %s\n", i, strings.ReplaceAll(s, "\n", "\n        "))
	}
	b.WriteString("    machinePools:\n      - {name: servers, controlPlaneRole: true, etcdRole: true, quantity: 3}\n")
	return b.String()
}

func TestManySecretsStayHidden(t *testing.T) {
	snippets, p := manySecrets()
	if len(snippets) < 600 {
		t.Fatalf("%d secrets", len(snippets))
	}
	shown := 0
	for i, s := range snippets {
		doc := parsePlanted(t, filepath.Join(t.TempDir(), "in.yaml"), s+"\n")
		text := string(redact.Document(doc))
		if planted := marks(s); !planted[i] {
			t.Fatalf("%s is not in the input:\n%s", p.places[i], s)
		}
		if marks(text)[i] {
			shown++
			t.Errorf("%s shows:\n%s", p.places[i], text)
		}
		if strings.Count(text, "\n") != strings.Count(s, "\n")+1 {
			t.Errorf("%s: the lines changed:\n%s", p.places[i], text)
		}
	}
	t.Logf("%d secrets, %d shown", len(snippets), shown)
}

// TestNoOutputShowsOneOfManySecrets runs the verbs over all of them at once, in YAML
// and in JSON on one line, which is whole in every diff.
func TestNoOutputShowsOneOfManySecrets(t *testing.T) {
	snippets, p := manySecrets()
	text := clusterWith(snippets)
	asJSON, err := sigsyaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cluster.yaml": text, "cluster.json": string(asJSON) + "\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "cluster.json" && len(marks(unredacted(t, parsePlanted(t, file, text)))) < 600 {
				t.Fatal("little would be shown if nothing were redacted")
			}
			runs := [][]string{{"plan"}, {"plan", "-o", "json"}, {"plan", "-o", "markdown"}, {"explain", "-o", "json"}, {"lint"}}
			if name == "cluster.yaml" {
				runs = append(runs, []string{"plan", "-o", "yaml"}, []string{"explain"}, []string{"lint", "-o", "json"},
					[]string{"explain", "--diff", stages.SwitchToExternal}, []string{"apply", "--next", "--dry-run"})
				requireSafeFolder(t, p, file)
			}
			for _, args := range runs {
				p.run(t, "", append(args, file))
			}
		})
	}
}
