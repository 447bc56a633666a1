// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

var (
	nodeNamed = regexp.MustCompile(`ip-[0-9-]+\.\S+\.internal`)
	podNamed  = regexp.MustCompile(`logs --previous (\S+)`)
)

// TestTheKubectlCommandsOfAdviceRun runs each command of kubectl that a rule advises for a live cluster, with kubectl
// as it is published, on an API server that has what the command names.
func TestTheKubectlCommandsOfAdviceRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real API server")
	}
	t.Parallel()
	c := assert.Value(cluster.Start(t.Context(), folder(t), cluster.LastInTree, cluster.Short))(t)
	t.Cleanup(c.Stop)
	explain(t, c.LogTail)
	kubectl := assert.Value(build.Kubectl.Path(t.Context()))(t)
	config := assert.Value(c.Kubeconfig(cluster.Admin))(t)
	client := assert.Value(c.Client(cluster.Admin))(t)
	commands := advised(t)
	if len(commands) < 8 {
		t.Fatalf("only %d commands are advised", len(commands))
	}
	provide(t, client, strings.Join(commands, "\n"))
	for _, command := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = []string{"PATH=" + filepath.Dir(kubectl) + ":" + os.Getenv("PATH"), "KUBECONFIG=" + config, "HOME=" + c.Dir}
		out, err := cmd.CombinedOutput()
		t.Logf("$ %s\n%s", command, out)
		if no := strings.Contains(command, "can-i") && string(out) == "no\n"; err != nil && !no {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// advised are the commands of kubectl in the table of advice, each once.
func advised(t *testing.T) (commands []string) {
	t.Helper()
	text := assert.Value(os.ReadFile("../../cmd/rke-lm/testdata/advised.tsv"))(t)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if command := cells[len(cells)-1]; strings.HasPrefix(command, "kubectl ") && strings.HasPrefix(cells[1], "live-") {
			commands = append(commands, command)
		}
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}

// provide creates the nodes and the pods that commands name. A server in the place of the kubelets has a log of every
// container.
func provide(t *testing.T, client *kubernetes.Clientset, commands string) {
	t.Helper()
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/containerLogs/") || r.URL.Query().Get("previous") != "true" {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(kubelet.Close)
	host, port, err := net.SplitHostPort(kubelet.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number := assert.Value(strconv.ParseInt(port, 10, 32))(t)
	nodes := nodeNamed.FindAllString(commands, -1)
	slices.Sort(nodes)
	for _, name := range slices.Compact(nodes) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: true}}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
		if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// A controller of kube-controller-manager creates it, and none runs.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, m := range podNamed.FindAllStringSubmatch(commands, -1) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m[1]}, Spec: corev1.PodSpec{
			NodeName: nodes[0], Containers: []corev1.Container{{Name: "manager", Image: "manager"}},
		}}
		if _, err := client.CoreV1().Pods(metav1.NamespaceSystem).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
