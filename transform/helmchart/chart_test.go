// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestFormsOfAReference(t *testing.T) {
	for chart, want := range map[string]Reference{
		"web-app":                                                         {Name: "web-app"},
		"mirror/web-app":                                                  {Name: "web-app"},
		"https://c.example.com/web-app":                                   {Name: "web-app"},
		"oci://r.example.com/charts/web-app":                              {Name: "web-app"},
		"oci://r.example.com:5000/charts/web-app:1.2.3":                   {Name: "web-app", Version: "1.2.3"},
		"oci://r.example.com/charts/web-app@sha256:ab":                    {Name: "web-app", Version: "sha256:ab"},
		"oci://r.example.com/charts/web-app:1.2.3@sha256:ab":              {Name: "web-app", Version: "1.2.3"},
		"https://c.example.com/web-app-1.2.3.tgz":                         {Name: "web-app", Version: "1.2.3", Archive: true},
		"https://c.example.com/web-app-v1.2.3-rc.1.tgz":                   {Name: "web-app", Version: "v1.2.3-rc.1", Archive: true},
		"https://c.example.com/web-app-1.2.3%2Bours.tgz":                  {Name: "web-app", Version: "1.2.3+ours", Archive: true},
		"https://c.example.com/web-app-1.2.3.tar.gz?token=a/b#c":          {Name: "web-app", Version: "1.2.3", Archive: true},
		"https://c.example.com/web-app.tgz":                               {Name: "web-app", Archive: true},
		"https://%{KUBERNETES_API}%/static/charts/web-app-1.2.3.tgz":      {Name: "web-app", Version: "1.2.3", Archive: true},
		"https://%{KUBERNETES_API}%/static/charts/web-app-proxy-1.02.tgz": {Name: "web-app-proxy-1.02", Archive: true},
	} {
		assert.Equal(t, ParseReference(chart), want, chart)
	}
}

func chartFiles() map[string]string {
	return map[string]string{
		"Chart.yaml": "---\nname: web-app\nversion: 1.2.3\n---\n", "values.yaml": "args: [--a]\n",
		"templates/a.yaml": "{{ .Values.args }}\n", "README.md": "text\n",
	}
}

// packedWith is the chart with another file.
func packedWith(t *testing.T, name, text string) string {
	files := chartFiles()
	files[name] = text
	return packed(t, files)
}

func TestAnArchiveIsRead(t *testing.T) {
	text := packed(t, chartFiles())
	for _, content := range []string{text, text[:40] + "\n" + text[40:] + "\n"} {
		a, err := Unpack(content)
		assert.Truef(t, err == nil && a.Name == "web-app" && a.Version == "1.2.3" && a.Values.Get("args").Len() == 1, "%+v %v", a, err)
	}
}

func TestWhatIsRenderedDistinguishesArchives(t *testing.T) {
	first := assert.Value(Unpack(packed(t, chartFiles())))(t)
	for name, same := range map[string]bool{"README.md": true, "values.yaml": true, "templates/a.yaml": false, "templates/b.yaml": false, "charts/b/Chart.yaml": false, "crds/c.yaml": false} {
		a, err := Unpack(packedWith(t, name, "other: 1\n"))
		assert.Truef(t, err == nil && (a.Templates == first.Templates) == same, "%s: %v %v", name, a.Templates == first.Templates, err)
	}
}

func TestArchivesThatAreNotRead(t *testing.T) {
	many := chartFiles()
	for i := range maxFiles {
		many[fmt.Sprint("templates/", i)] = ""
	}
	whole := packed(t, chartFiles())
	cut, _ := base64.StdEncoding.DecodeString(whole)
	for content, want := range map[string]string{
		"~": "not base64", "H4sIAAAA": "not a gzip archive",
		base64.StdEncoding.EncodeToString(cut[:len(cut)-40]):               "damaged",
		base64.StdEncoding.EncodeToString(make([]byte, maxPacked+1)):       "more than 2097152 bytes",
		packedWith(t, "templates/zeros", strings.Repeat("0", maxUnpacked)): "unpacks to more than",
		packed(t, many): "more than 2000 files",
		packedWith(t, "Chart.yaml", "version: 1.2.3\n"): "no Chart.yaml",
		packedWith(t, "values.yaml", "a: [\n"):          "values.yaml in the archive",
	} {
		assert.Error(Unpack(content))(t, want)
	}
}
