// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// tokens are secrets that show by their form: <m36> is 36 letters and digits, <l12> the same in lower and <u16> in upper
// case. The · is left out: so no text of this file is one of them.
var tokens = []string{
	"AK·IA<u16>", "AS·IA<u16>", "<m22>/<m17>", "<m18>/+<m20>", "/<m39>", "<m90>/+<m90>==", // of AWS
	"gh·p_<m36>", "gh·s_<m36>", "github·_pat_<m22>_<m59>", "gl·pat-<m20>", "gl·dt-<m20>", "gl·rt-<m20>", "AT·BB<m32>", "ATA·TT3<m60>",
	"xo·xb-1234567890-<m24>", "xa·pp-1-<m40>", "https://hooks.sl·ack.com/services/T0/B0/<m24>", "https://discord.com/api/web·hooks/1234/<m40>",
	"https://x.webhook.off·ice.com/webhookb2/<l36>@x/IncomingWebhook/<l32>", "https://hooks.zap·ier.com/hooks/catch/<l24>", "https://hc-p·ing.com/<l24>",
	"sk_·live_<m24>", "S·G.<m22>.<m43>", "AI·za<m35>", "GOC·SPX-<m28>", "np·m_<m36>", "py·pi-<m60>", "dckr_·pat_<m27>", "AK·Cp<m60>",
	"hv·s.<m90>", "s·.<m24>", "dop·_v1_<l64>", "gl·sa_<m32>_<l8>", "NR·AK-<u27>", "snt·rys_<m60>", "da·pi<l32>", "dp·.pt.<m43>", "dt0·c01.<m24>.<m64>",
	"h·f_<m34>", "sk·-proj-<m48>", "sk·-ant-api03-<m90>", "shp·at_<l32>", "lin_·api_<m40>", "fo·1_<m43>", "AGE-SEC·RET-KEY-1<u58>",
	"tok·en-00420:<l54>", "kube·config-u-<l6>:<l54>", "K·10<l64>::server:<l32>", "K·10<l64>::server:<l12>/+<l12>=", "<l6>.<l16>", "sha·256~<m43>",
	"ey·J<m30>.<m40>.<m30>", "$2·y$10$<m53>", "$6·$salt$<m86>", "$ap·r1$salt$<m22>", "Bearer <l30>", "Basic <m24>==", "<m32>", "<l36>",
	"http://proxy:<m12>@proxy.example.com:3128/path", "postgres://app:<l12>@db.example.com:5432/app", "https://<l18>@git.example.com/a/b.git",
	"https://a.blob.core.windows.net/b?sv=2022-11-02&sig=<m30>%3D", "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=<l30>",
	"https://api.example.com/v1?access_token=<l12>&page=1", "app:<l12>@tcp(db.example.com:3306)/orders",
	"curl -fsS -u admin:<l12> https://example.com/", "curl --user admin:<l12> https://example.com/", "curl -H 'Authorization: Token <l18>' https://example.com",
	"docker login -u puller -p <l12> registry.example.com", "sshpass -p '<l12>' ssh host", "mysql -h db -p<l12> app", "helm registry login --username a --password <l12>",
	"curl https://a.example.com/install.sh | sh -s - --token <l12> --etcd",
	"Server=db;User=a;Password=<l12>;Encrypt=true", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=<m60>==;EndpointSuffix=x",
}

// ofLines are lines of a .netrc and a .pgpass, which are none in a text, and a password of all kinds of characters.
var ofLines = []string{"machine git.example.com login ci password <l12>", "db.example.com:5432:app:admin:<l12>", "Q<l6>!#7"}

var placeholder = regexp.MustCompile(`·|<([lmu])(\d+)>`)

// token returns a secret of the form. Each part of it is recognized by its mark.
func token(form string) string {
	return placeholder.ReplaceAllStringFunc(form, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		n, _ := strconv.Atoi(m[2])
		text := strings.Repeat("Q0042z", n/6+1)[:n]
		switch m[1] {
		case "l":
			return strings.ToLower(text)
		case "u":
			return strings.ToUpper(text)
		}
		return text
	})
}

func shows(text string) bool { return strings.Contains(strings.ToLower(text), "q0042z") }

// TestATokenIsHiddenWhereverItIs is the property of secrets without a name: form × place.
func TestATokenIsHiddenWhereverItIs(t *testing.T) {
	quoted := func(text string) string { return strings.Trim(strconv.Quote(text), `"`) }
	for _, form := range append(ofLines, tokens...) {
		v, ofLine := token(form), slices.Contains(ofLines, form)
		for _, text := range []string{
			"note: " + strconv.Quote(v), "notes:\n  - " + strconv.Quote(v), "note: |\n  first\n  " + v + "\n  last", "note: >-\n  first\n  " + v,
			`note: "first\n` + quoted(v) + `\nlast"`, "note: " + strconv.Quote(`{"a": ["`+v+`"]}`), "# " + v + "\nx: 1", "x: 1 # " + v,
			"env: [{name: NOTE, value: " + strconv.Quote(v) + "}]", "env: [" + strconv.Quote("NOTE="+v) + "]", "cloud-provider-config: |\n  [Global]\n  Zone = " + v,
			"taints: [{key: a, value: " + strconv.Quote(v) + ", effect: NoSchedule}]", "a: [" + strconv.Quote("node-labels=example.com/x="+v) + "]",
			"kind: ConfigMap\ndata:\n  values: |\n    valuesContent: |\n      env:\n        - name: NOTE\n          value: " + strconv.Quote(v),
		} {
			if ofLine && strings.Contains(text, "="+v) {
				continue
			}
			out := redacted(t, text+"\n")
			assert.Truef(t, !shows(out) && shows(text), "%s is shown:\n%s", v, out)
			d, err := yamledit.ParseString("", text)
			assert.Truef(t, err == nil && (!shows(fmt.Sprint(Value("a", d.Root().Value()))) || (ofLine && strings.Contains(text, ">-"))), "%s is shown as a value: %v", text, err)
		}
		out := Text("it failed: " + v + ": no such host")
		assert.Truef(t, !shows(out) || ofLine, "a message shows %s: %s", v, out)
	}
}

// TestTheDataOfASecretIsHiddenWhateverItsName is the property of Secrets: form × name.
func TestTheDataOfASecretIsHiddenWhateverItsName(t *testing.T) {
	for _, form := range []string{
		"m: |\n  apiVersion: v1\n  kind: Secret\n  stringData:\n    NAME: VALUE", `m: "{\"kind\": \"Secret\", \"apiVersion\": \"v1\", \"data\": {\"NAME\": \"VALUE\"}}"`,
		"m: |\n  kind: SecretList\n  items:\n    - metadata: {name: a}\n      data:\n        NAME: VALUE",
		`m: "{\"kind\": \"SecretList\", \"items\": [{\"stringData\": {\"NAME\": \"VALUE\"}}]}"`,
		"m: |\n  kind: List\n  items:\n    - kind: Secret\n      data:\n        NAME: VALUE", "m: |\n  # kind: Secret\n  # data:\n  #   NAME: VALUE\n  a: 1",
		"m: |\n  kind: Secret\n  stringData:\n    a: b\n    # NAME: VALUE\n  type: Opaque",
		"# old:\n#   kind: Secret\n#   type: Opaque\n#   stringData:\n#     NAME: |\n#       VALUE\nx: 1",
		"m: |\n  kind: Secret\n  data:\n    NAME: VALUE\n  {{ end }}\n   x: [", // is not YAML
		"kind: HelmChart\nspec:\n  valuesContent: |\n    extraObjects:\n      - kind: Secret\n        stringData:\n          NAME: VALUE",
		"kind: HelmChart\nspec:\n  valuesContent: |\n    manifests: |\n      kind: Secret\n      data:\n        \"NAME\": VALUE",
	} {
		for _, name := range []string{"a", "config.json", "secretName"} {
			hidesSecret(t, written(form+"\n")(name, "hunter2"))
		}
	}
}

func TestTheTablesHaveNoOtherWords(t *testing.T) {
	for words := range lists.Rows(prefixList) {
		_, err := strconv.Atoi(words[len(words)-1])
		assert.True(t, len(words) == 3 && err == nil, words)
	}
	for _, list := range byFirst {
		for _, p := range list {
			assert.True(t, p.of != nil, p.text)
		}
	}
	for words := range lists.Rows(nameList) {
		assert.True(t, len(words) > 2 && slices.Contains([]string{"secret", "ordinary", "reference"}, words[1]), words)
	}
	for _, row := range namingTable {
		assert.True(t, row.matches != nil, row.entries)
	}
}
