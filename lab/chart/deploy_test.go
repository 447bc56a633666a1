// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var update = flag.Bool("update", false, "rewrite deploy/controller.yaml")

const deployed = "../../deploy/chart"

// example are the values that have no default.
func example(more map[string]any) map[string]any {
	values := map[string]any{"rancher": map[string]any{"url": "https://rancher.example.com", "user": "u-abcde"}}
	for key, v := range more {
		values[key] = v
	}
	return values
}

// ownChart renders the chart of the controller. The values pass through its schema.
func ownChart(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load(deployed)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "rke-lm", Namespace: "rke-lm", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	for name := range rendered {
		if strings.HasSuffix(name, ".tpl") {
			delete(rendered, name)
		}
	}
	return rendered, nil
}

// objects are those of a rendered chart, as kind/name.
func objects(t *testing.T, rendered map[string]string) map[string]string {
	t.Helper()
	hooks, list, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	if err != nil || len(hooks) > 0 {
		t.Fatal(err, hooks)
	}
	found := map[string]string{}
	for _, m := range list {
		var head struct {
			Metadata struct{ Namespace, Name string }
		}
		if err := yaml.Unmarshal([]byte(m.Content), &head); err != nil {
			t.Fatal(err)
		}
		found[strings.Join([]string{m.Head.Kind, head.Metadata.Namespace, head.Metadata.Name}, "/")] = m.Content
	}
	return found
}

func read[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheChartOfTheControllerLints(t *testing.T) {
	for _, m := range lint.All(deployed, example(nil), "rke-lm", true).Messages {
		if m.Severity > support.InfoSev {
			t.Errorf("%s: %v", m.Path, m.Err)
		}
	}
}

func TestTheControllerRunsWithTheLeastPrivileges(t *testing.T) {
	rendered, err := ownChart(t, example(map[string]any{"rancher": map[string]any{"url": "https://rancher.example.com", "user": "u-abcde", "caSecret": "tls-ca"}}))
	if err != nil {
		t.Fatal(err)
	}
	pod := read[appsv1.Deployment](t, objects(t, rendered)["Deployment/rke-lm/rke-lm"]).Spec.Template.Spec
	c := pod.Containers[0]
	switch s := c.SecurityContext; {
	case !*pod.SecurityContext.RunAsNonRoot, *pod.SecurityContext.RunAsUser == 0, *pod.AutomountServiceAccountToken:
		t.Errorf("%+v", pod.SecurityContext)
	case !*s.ReadOnlyRootFilesystem, *s.AllowPrivilegeEscalation, len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL":
		t.Errorf("%+v", s)
	}
	for _, want := range []string{"--rancher-url=$(RANCHER_URL)", "--cacert=/var/run/secrets/rke-lm/ca/cacerts.pem", "--namespace=rke-lm", "--metrics-bind-address=:8080", "--policy=/etc/rke-lm/policy.yaml"} {
		if !slices.Contains(c.Args, want) {
			t.Errorf("no %s in %v", want, c.Args)
		}
	}
	if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.Image != "rke-lm:v0.1.0" {
		t.Errorf("%+v", c)
	}
	for _, m := range c.VolumeMounts {
		if m.Name != "tmp" && !m.ReadOnly {
			t.Errorf("%s can be written", m.Name)
		}
	}
}

// The image with helm has the same tag and -helm, and writes to the folder that can be written in any case.
func TestTheImageWithHelmIsChosenByAValue(t *testing.T) {
	for _, c := range []struct {
		image map[string]any
		want  string
	}{
		{map[string]any{"helm": true}, "rke-lm:v0.1.0-helm"},
		{map[string]any{"helm": false}, "rke-lm:v0.1.0"},
		{map[string]any{"helm": true, "tag": "own"}, "rke-lm:own"},
		{map[string]any{"tag": "own", "digest": "sha256:" + strings.Repeat("0a", 32)}, "rke-lm@sha256:" + strings.Repeat("0a", 32)},
		{map[string]any{"digest": "v0.1.0"}, ""},
		{map[string]any{"helm": "yes"}, ""},
	} {
		rendered, err := ownChart(t, example(map[string]any{"image": c.image}))
		if c.want == "" {
			if err == nil {
				t.Errorf("%v is accepted", c.image)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		pod := read[appsv1.Deployment](t, objects(t, rendered)["Deployment/rke-lm/rke-lm"]).Spec.Template.Spec
		if got := pod.Containers[0].Image; got != c.want {
			t.Errorf("%v: %s, want %s", c.image, got, c.want)
		}
		tmp := slices.IndexFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/tmp" && !m.ReadOnly })
		if tmp < 0 || !*pod.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("helm cannot write to /tmp: %+v", pod.Containers[0])
		}
	}
}

// What is permitted is what the values name, and the clusters are those of the roles.
func TestThePolicyIsThatOfTheValues(t *testing.T) {
	rendered, err := ownChart(t, example(map[string]any{
		"rke1Clusters": []any{"c-abcde"},
		"policy":       map[string]any{"approval": "wave", "chartRepositories": []any{"https://charts.example.com"}, "options": []any{"end-state"}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := read[map[string]any](t, read[corev1.ConfigMap](t, objects(t, rendered)["ConfigMap/rke-lm/rke-lm-policy"]).Data["policy.yaml"])
	want := map[string]any{
		"approval": "wave", "namespaces": []any{"fleet-default", "c-abcde"}, "chart-repositories": []any{"https://charts.example.com"},
		"image-repositories": []any{}, "options": []any{"end-state"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if rendered, err = ownChart(t, example(nil)); err != nil {
		t.Fatal(err)
	}
	if text := objects(t, rendered)["ConfigMap/rke-lm/rke-lm-policy"]; strings.Contains(text, "options") {
		t.Errorf("all options are permitted without a list: %s", text)
	}
}

func TestTheNetworkOfThePodIsThatOfTheValues(t *testing.T) {
	for url, ports := range map[string][]int32{"https://rancher.example.com": {443}, "https://rancher.example.com:8443/base": {443, 8443}, "https://[2001:db8::1]:6443": {443, 6443}} {
		rendered, err := ownChart(t, example(map[string]any{"rancher": map[string]any{"url": url, "user": "u-abcde"}}))
		if err != nil {
			t.Fatal(err)
		}
		found := objects(t, rendered)
		p := read[networkingv1.NetworkPolicy](t, found["NetworkPolicy/rke-lm/rke-lm"]).Spec
		pod := read[appsv1.Deployment](t, found["Deployment/rke-lm/rke-lm"]).Spec.Template
		for key, v := range p.PodSelector.MatchLabels {
			if pod.Labels[key] != v {
				t.Errorf("the pod has no label %s=%s", key, v)
			}
		}
		var got []int32
		for _, port := range p.Egress[1].Ports {
			got = append(got, port.Port.IntVal)
		}
		if len(p.PolicyTypes) != 2 || !slices.Equal(got, ports) || p.Ingress[0].Ports[0].Port.StrVal != "metrics" || len(p.Ingress[0].From) != 1 {
			t.Errorf("%s: %+v", url, p)
		}
	}
	for values, want := range map[string]int{`{"metricsFrom":[]}`: 0, `{"enabled":false}`: -1} {
		rendered, err := ownChart(t, example(map[string]any{"networkPolicy": read[map[string]any](t, values)}))
		if err != nil {
			t.Fatal(err)
		}
		text := objects(t, rendered)["NetworkPolicy/rke-lm/rke-lm"]
		if (text == "") != (want < 0) || text != "" && len(read[networkingv1.NetworkPolicy](t, text).Spec.Ingress) != want {
			t.Errorf("%s: %s", values, text)
		}
	}
}

// The user of the token can read Secrets only where the clusters are.
func TestTheRolesAreThoseOfTheNamedNamespaces(t *testing.T) {
	rendered, err := ownChart(t, example(map[string]any{"clusterNamespaces": []any{"fleet-default", "second"}, "rke1Clusters": []any{"c-abcde", "c-fghij"}}))
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, rendered)
	var secrets []string
	for key, text := range found {
		kind, _, _ := strings.Cut(key, "/")
		if kind != "Role" && kind != "ClusterRole" {
			continue
		}
		if _, bound := found[strings.Replace(key, kind, kind+"Binding", 1)]; !bound {
			t.Errorf("%s is not bound", key)
		}
		for _, r := range read[rbacv1.Role](t, text).Rules {
			for _, name := range r.ResourceNames {
				if strings.ContainsAny(name, "<>") {
					t.Errorf("%s is about %s, which no object is", key, name)
				}
			}
			if slices.Contains(r.Resources, "secrets") {
				secrets = append(secrets, key+" "+strings.Join(r.Verbs, ","))
			}
			if slices.Contains(r.Verbs, "*") || slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, "leadermigrationapprovals") && slices.Contains(r.Verbs, "create") {
				t.Errorf("%s: %v", key, r)
			}
			if kind == "ClusterRole" && slices.Contains(r.Verbs, "patch") && !slices.Equal(r.ResourceNames, []string{"c-abcde", "c-fghij"}) {
				t.Errorf("%s: %v", key, r)
			}
		}
	}
	slices.Sort(secrets)
	if want := []string{"Role/fleet-default/rke-lm get", "Role/second/rke-lm get"}; !slices.Equal(secrets, want) {
		t.Errorf("Secrets can be read by %v", secrets)
	}
	for _, want := range []string{"Role/c-abcde/rke-lm", "Role/c-fghij/rke-lm", "Role/default/rke-lm", "Role/rke-lm/rke-lm"} {
		if found[want] == "" {
			t.Errorf("no %s", want)
		}
	}
}

func TestValuesThatCannotWorkAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		values map[string]any
		want   string
	}{
		"nothing":             {nil, "rancher"},
		"a URL without https": {example(map[string]any{"rancher": map[string]any{"url": "rancher.example.com", "user": "u-abcde"}}), "url"},
		"no run at a time":    {example(map[string]any{"maxRuns": 0}), "maxRuns"},
		"a wrong key":         {example(map[string]any{"replica": 1}), "replica"},
		"a name as an ID":     {example(map[string]any{"rke1Clusters": []any{"harbour"}}), "rke1Clusters"},
	} {
		if _, err := ownChart(t, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var metricName = regexp.MustCompile(`rke_lm_[a-z_]+`)

// The dashboard shows metrics that the controller has.
func TestTheDashboardShowsMetricsThatExist(t *testing.T) {
	rendered, err := ownChart(t, example(map[string]any{"dashboard": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}}}))
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, rendered)
	if s := found["ServiceMonitor/rke-lm/rke-lm"]; !strings.Contains(s, "release: prometheus") || !strings.Contains(s, "scheme: https") || !strings.Contains(s, "bearerTokenFile: ") {
		t.Errorf("%s", found["ServiceMonitor/rke-lm/rke-lm"])
	}
	text := read[struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]any    `json:"metadata"`
		Data       map[string]string `json:"data"`
	}](t, found["ConfigMap/rke-lm/rke-lm-dashboard"]).Data["rke-lm.json"]
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(text), &board); err != nil || len(board.Panels) < 5 {
		t.Fatal(err, len(board.Panels))
	}
	source, err := os.ReadFile("../../internal/controller/process.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			names := metricName.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s shows no metric", p.Title)
			}
			for _, name := range names {
				if !strings.Contains(string(source), `"`+strings.TrimSuffix(name, "_bucket")+`"`) {
					t.Errorf("%s: the controller has no %s", p.Title, name)
				}
			}
		}
	}
}

// deploy/controller.yaml is the chart with the values of an example, for kubectl apply -k.
func TestTheManifestIsTheRenderedChart(t *testing.T) {
	rendered, err := ownChart(t, example(nil))
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, rendered)
	should := "# Rendered from deploy/chart. To change it, change the chart and run make generate.\n"
	var keys []string
	for key := range found {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		should += "---\n" + strings.TrimSpace(found[key]) + "\n"
	}
	file := filepath.Join("..", "..", "deploy", "controller.yaml")
	if *update {
		if err := os.WriteFile(file, []byte(should), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(file); err != nil || string(is) != should {
		t.Errorf("%s is not the rendered chart (%v); run make generate", file, err)
	}
}

const overlay = `resources: [deploy]
images:
  - {name: rke-lm, newName: registry.example.com/rke-lm, newTag: v9.9.9}
patches:
  - patch: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {namespace: rke-lm, name: rke-lm}
      data: {rancher-url: https://rancher.internal.example.com}
  - target: {kind: RoleBinding|ClusterRoleBinding}
    patch: |
      - {op: replace, path: /subjects/0/name, value: u-fghij}
`

// An overlay of kustomize sets what differs.
func TestAnOverlaySetsTheURLTheUserAndTheImage(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		"image: registry.example.com/rke-lm:v9.9.9\n": 1, "rancher-url: https://rancher.internal.example.com\n": 1, "name: u-fghij\n": 3, "u-abcde": 0,
		"kind: CustomResourceDefinition\n": 2, "kind: Namespace\n": 1,
	} {
		if n := strings.Count(string(text), want); n != times {
			t.Errorf("%q is there %d times, not %d", want, n, times)
		}
	}
}
