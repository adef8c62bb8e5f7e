{{/* The flags of the manager: the chart's own first, then those that values add. The chart's own cannot be overruled. */}}

{{- define "bowline.extraArguments" -}}
{{- $extra := .Values.controllerExtraArgs }}
{{- if kindIs "string" $extra }}{{ $extra = tpl $extra . | fromYamlArray }}{{ end }}
{{- if kindIs "map" $extra }}{{ $extra = list }}{{ end }}
{{- toJson $extra }}
{{- end }}

{{- define "bowline.arguments" -}}
- ccm
- --cloud-provider=openstack
- --cloud-config={{ .Values.cloudConfigPath }}
- --cluster-name={{ .Values.cluster.name }}
- --controllers={{ join "," (default (list "*") .Values.enabledControllers) }}
{{- if eq .Values.mode "Shadow" }}
- --leader-elect=false
{{- else }}
- --leader-elect=true
- --leader-elect-resource-namespace={{ .Values.leaderElection.namespace }}
- --leader-elect-resource-name={{ .Values.leaderElection.name }}
{{- end }}
- --use-service-account-credentials=false
- --secure-port={{ .Values.securePort }}
{{- with .Values.featureGates }}
{{- $gates := list }}
{{- range $gate, $isOn := . }}{{ $gates = append $gates (printf "%s=%t" $gate $isOn) }}{{ end }}
- --feature-gates={{ join "," $gates }}
{{- end }}
{{- with .Values.logVerbosityLevel }}
- --v={{ . }}
{{- end }}
{{- if ne .Values.logFormat "text" }}
- --logging-format={{ .Values.logFormat }}
{{- end }}
{{- if eq .Values.mode "Shadow" }}
- --shadow
{{- else if eq .Values.mode "Paused" }}
- --paused
{{- else if eq .Values.mode "AdoptOnly" }}
- --adopt-only
{{- end }}
{{- if has .Values.mode (list "Shadow" "AdoptOnly") }}
- --shadow-report={{ .Release.Namespace }}/{{ include "bowline.report" . }}
{{- end }}
{{- range include "bowline.extraArguments" . | fromJsonArray }}
- {{ . | quote }}
{{- end }}
{{- end }}
