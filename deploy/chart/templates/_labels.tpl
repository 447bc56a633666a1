{{- define "rke-lm.selector" -}}
app.kubernetes.io/name: rke-lm
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "rke-lm.labels" -}}
{{ include "rke-lm.selector" . }}
app.kubernetes.io/component: controller
app.kubernetes.io/version: {{ .Chart.AppVersion }}
{{- end }}
