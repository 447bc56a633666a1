// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// secretNames are keys of secrets, one for each word by which they are known.
var secretNames = strings.Fields(`
	password db-passwd keystorePassphrase admin_passcode DB_PWD rootPswd clientSecret API_TOKEN registryCredentials bearer stringData
	tls-key tls.key TLS_KEY tlsKey server_key id_rsa id_ed25519 SSH_ID_ECDSA accessKey AWS_ACCESS_KEY_ID private_key apiKey ssh-key encryptionKey
	signingKey storageAccountKey masterkey licenseKey unsealKeys joinKey ipsecKeys ipsec-key psk presharedKey kmsDataKey hmac_key
	connectionString CONN_STR kubeconfig dockerconfigjson .dockercfg basicAuth htpasswd keytab netrc .pgpass authorization
	DATABASE_URL databaseUrl REDIS_URL mongodb-uri jdbc_url dsn SENTRY_DSN slackWebhookUrl slackUrl discord_url teamsUrl registryAuth registry_auth proxyAuth snmpCommunity bindpw rconpw pat hmac routing_key SLACK_WEBHOOK teams-webhook-url sasUrl sas_token signedUrl
	seed seedPhrase MNEMONIC walletMnemonic recoveryPhrase userData user_data user-data cloudInit cloud-init customData
	db-pass pw psw cred jwt otp totpSeed cookie passkey sasToken
	PASSWORD Password passwd pass DB_PASS dbPass smtp_pass userpass pwd DbPwd mysql-root-password PGPASSWORD passphrase passcode adminPassword
	secret client_secret CLIENT-SECRET secretKey SECRET_KEY_BASE jwtSecret webhookSecret secret_id AWS_SECRET_ACCESS_KEY
	token agentToken BOT_TOKEN refresh_token id-token accessToken identityToken AWS_SESSION_TOKEN CATTLE_TOKEN GITHUB_TOKEN
	api_key API-KEY x-api-key appKey access_key_id accountKey AZURE_STORAGE_KEY storageKey sharedAccessKey SharedKey ENCRYPTION_KEY
	signing_key masterKey privateKey sshKey ssh_cert sshPrivateKey sessionKey hmacKey unsealKey recovery_key ipsec_psk preSharedKey
	creds db-creds credential credentials credentialsJson Authorization auth .dockerconfigjson dockerConfigJson CONNECTION_STRING connStr pgpass
	session_cookie trust-id client-key-data htpasswdEntry mot_de_passe parola
	passwort geheim motDePasse contraseña senha wachtwoord hasło heslo jelszó lösenord пароль 密码 パスワード`)

// plainNames are keys of what is no secret, or refers to one.
var plainNames = strings.Fields(`
	secretName tokenType tokenTTL passwordPolicy secretNamespace existingSecret existingSecretPasswordKey passwordFile tokenFile privateKeyFile
	ssh_key_path secretRef secretProvider tokenUrl tokenEndpoint topologyKey labelKey partitionKey cacheKey publicKey primaryKey sortKey
	kmsKeyId userDataSecretName seedNodes reseed cloudInitVersion urls url webhook webhookTimeout authMode authProvider hashAlgorithm
	monkey keyboard author compass bypass kubernetesVersion cluster-cidr name key image registry repo description`)

// secretValues are secrets that show no secret by themselves, except some of the last.
var secretValues = []string{
	"hunter2x", "correct-horse.battery", "48151623", "x", "Zm9vYmFyYmF6cXV4", "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "a,b", "s3cr3t!",
	"postgres://app:hunter2x@db.example.com/app", "postgres://db.example.com/app?pass=hunter2x", "app:hunter2x@tcp(db.example.com:3306)/app",
	"https://hooks.example.com/services/T024/B0G9/h8nterhunter2x", "witch collapse practice feed shame open", "{hunter2x]", "hunter2x~hunter2x", "minio-Q0042z",
}

// spelling writes a name with a value in one of the forms in which people write them.
type spelling struct {
	name  string
	text  func(name, value string) string
	words bool // the value can have blanks
	env   bool // the name has to be one of a variable
}

func written(format string) func(name, value string) string {
	return func(name, value string) string {
		return strings.NewReplacer("NAME", name, "VALUE", value).Replace(format)
	}
}

var spellings = []spelling{
	{"a key", written("a:\n  NAME: VALUE\n"), true, false},
	{"a key and a double quoted value", written(`NAME: "VALUE"` + "\n"), true, false},
	{"a key and a single quoted value", written(`NAME: 'VALUE' # kept` + "\n"), true, false},
	{"quoted keys of JSON", written(`{"a": {"NAME": "VALUE"}}` + "\n"), true, false},
	{"a block", written("NAME: |\n  VALUE\n  VALUE\nb: kept\n"), true, false},
	{"a folded block", written("NAME: >-\n  VALUE\n  VALUE\nb: kept\n"), true, false},
	{"a list below it", written("NAME:\n  - VALUE\n  - [\"VALUE\"]\n"), true, false},
	{"a mapping below it", written("NAME: {x: {y: \"VALUE\"}}\n"), true, false},
	{"a name and a value", written("- name: NAME\n  value: VALUE\n"), true, false},
	{"a value and a name", written("- value: VALUE\n  name: NAME\n"), true, false},
	{"a Name and a Value", written("- Name: NAME\n  Value: VALUE\n"), true, false},
	{"a Key and a Value", written("- {Key: NAME, Value: \"VALUE\"}\n"), true, false},
	{"a parameter of CloudFormation", written("- ParameterKey: NAME\n  ParameterValue: VALUE\n"), true, false},
	{"a header", written("- header: NAME\n  value: VALUE\n"), true, false},
	{"an assignment", written("a: NAME=VALUE\n"), false, false},
	{"an assignment in a list", written("a: [\"NAME=VALUE\"]\n"), true, false},
	{"an argument", written("a:\n  - --NAME=VALUE\n"), true, false},
	{"an argument of two items", written("a:\n  - --NAME\n  - VALUE\n"), true, false},
	{"an argument of two items with one hyphen", written("a: [\"-NAME\", \"VALUE\"]\n"), true, false},
	{"an argument on a command line", written("a: run --NAME VALUE --other kept\n"), false, false},
	{"a value that is set for a chart", written("a: helm install --set app.NAME=VALUE x\n"), false, false},
	{"JSON in JSON in a string", written(`a: "{\"x\": \"{\\\"NAME\\\": \\\"VALUE\\\", \\\"z\\\": 1}\"}"` + "\n"), true, false},
	{"JSON with a break in a string", written(`a: "{\"NAME\": \"VALUE\"}\n"` + "\n"), true, false},
	{"JSON that is cut off", written(`a: "{\"x\": {\"NAME\": \"VALUE\", \"b\": ["` + "\n"), true, false},
	{"JSON in a comment", written(`# {"a": 1, "NAME": "VALUE"}` + "\na: 1\n"), true, false},
	{"a flow mapping", written("a: {b: kept, NAME: 'VALUE', c: kept}\n"), true, false},
	{"a comment", written("a: 1 # NAME: VALUE\nb: kept # NAME=VALUE\n"), true, false},
	{"a comment of several lines", written("# NAME: |\n#   first\n#   VALUE\na: kept\n"), true, false},
	{"lines of a comment", written("# NAME=VALUE\n# - name: NAME\n#   value: VALUE\na: 1\n"), true, false},
	{"lines of a comment with Name and Value", written("# - Name: NAME\n#   Value: VALUE\na: 1\n"), true, false},
	{"a script", written("a: |\n  export NAME='VALUE'\n  run\n"), true, false},
	{"a manifest in a string", written("a: |\n  kind: ConfigMap\n  data:\n    NAME: VALUE\n"), true, false},
	{"a quoted manifest", written(`a: "kind: ConfigMap\ndata:\n  NAME: VALUE\n"` + "\n"), true, false},
	{"JSON in a string", written(`a: '{"NAME": "VALUE"}'` + "\n"), true, false},
	{"escaped JSON in a string", written(`a: "{\"NAME\": \"VALUE\"}"` + "\n"), true, false},
	{"an element of XML", written("a: <x><NAME>VALUE</NAME></x>\n"), true, false},
	{"an attribute of XML", written(`a: '<add key="NAME" value="VALUE"/>'` + "\n"), true, false},
	{"a header of a command", written(`a: "curl -H 'NAME: VALUE' https://example.com/"` + "\n"), true, false},
	{"settings", written("a: |\n  [x]\n  NAME = VALUE\n"), true, false},
	{"settings of TOML", written("a: |\n  [x.y]\n  NAME = \"VALUE\"\n  b = 'kept'\n"), true, false},
	{"settings of TOML with a text", written("a: |\n  b = 'kept'\n  NAME = \"\"\"\n  a\n  VALUE\n  \"\"\"\n"), true, false},
	{"properties", written("a: |\n  a=kept\n  my.NAME=VALUE\n"), true, false},
	{"a name and a value of a line", written("a: |\n  NAME VALUE\n"), false, false},
	{"a variable and its value of an image", written("a: |\n  ENV NAME VALUE\n"), false, true},
	{"a variable and its value in a text", written("a: setenv NAME VALUE\n"), false, true},
	{"a variable and its value in a list", written("a: [NAME, \"VALUE\"]\n"), true, true},
	{"a variable and its value in a comment", written("# setenv NAME VALUE\na: 1\n"), false, true},
}

func (s spelling) takes(name, value string) bool {
	switch {
	case strings.ContainsAny(value, " ") && !s.words, value[0] == '{' && (s.name == "a list below it" || !strings.Contains(s.text("", "V"), `"V"`)):
		return false
	case name == "auth" && (s.name == "properties" || s.name == "a value that is set for a chart"):
		return false // secret as a whole name alone
	case s.name == "a name and a value of a line":
		return len(value) > 1 // a word may be one of a message
	case s.name == "a mapping below it" && strings.EqualFold(name, "authorization"):
		return false // of an API server
	case name == "kubeconfig" && strings.Contains(s.name, "argument") && !strings.Contains(s.name, "hyphen"):
		return false // --kubeconfig names a file
	case s.env:
		return name == strings.ToUpper(name) && !strings.ContainsAny(name, ".-") && name[0] < 0x80
	case strings.Contains(s.name, "XML") || strings.Contains(s.name, "hyphen") || strings.Contains(s.name, "command line"):
		return name[0] != '.' && name[0] < 0x80
	}
	return true
}

// TestASecretIsHiddenByItsNameHoweverItIsWritten is the property of the package: name × spelling × value.
func TestASecretIsHiddenByItsNameHoweverItIsWritten(t *testing.T) {
	for _, s := range spellings {
		t.Run(s.name, func(t *testing.T) {
			for i, name := range secretNames {
				for j, value := range secretValues {
					if s.takes(name, value) && (j == 0 || (i+j)%4 == 0) { // each two of the three
						hides(t, name, value, s.text(name, value))
					}
				}
			}
		})
	}
}

func hides(t *testing.T, name, value, text string) {
	t.Helper()
	plain := strings.ReplaceAll(text, value, "")
	d, err := yamledit.ParseString("in.yaml", text)
	assert.Mustf(t, err == nil, "%s: %v", text, err)
	out := Document(d)
	assert.Truef(t, value != secretValues[0] || !strings.Contains(fmt.Sprint(Value("a", d.Root().Value())), value), "%s is shown as a value", text)
	if len(value) < 2 { // it may be part of a name
		assert.Truef(t, out != text, "%s = %s is shown:\n%s", name, value, out)
		return
	}
	assert.Truef(t, !strings.Contains(out, value) && !strings.Contains(out, "hunter2x") && strings.Count(out, "\n") == strings.Count(text, "\n"), "%s = %s is shown:\n%s", name, value, out)
	assert.Truef(t, !strings.Contains(plain, "kept") || strings.Contains(out, "kept") || strings.Contains(value, "="), "%s hides more:\n%s", name, out)
}

func TestANameThatIsNoSecretKeepsItsValue(t *testing.T) {
	for _, s := range spellings {
		for _, name := range plainNames {
			for _, value := range []string{"orchard", "regcred-2", "v1.26.15+rke2r1", "/etc/kubernetes/x.pem", "300s", "eu-west-1"} {
				text := s.text(name, value)
				if !s.takes(name, value) || strings.Contains(text, "app.key") || strings.Contains(text, "my.key") { // a key of a part of a chart is one
					continue
				}
				assert.Equal(t, redacted(t, text), text, name)
			}
		}
	}
}
