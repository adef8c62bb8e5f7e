{{/* Names and labels. */}}

{{- define "bowline.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "bowline.fullname" -}}
{{- $name := include "bowline.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* What runs. In shadow mode it has a name of its own, for a selector cannot be changed when the mode is. */}}
{{- define "bowline.workload" -}}
{{- include "bowline.fullname" . }}{{ if eq .Values.mode "Shadow" }}-shadow{{ end }}
{{- end }}

{{- define "bowline.account" -}}
{{- default (include "bowline.fullname" .) .Values.serviceAccountName }}
{{- end }}

{{- define "bowline.role" -}}
{{- default (printf "bowline:%s" (include "bowline.fullname" .)) .Values.clusterRoleName }}
{{- end }}

{{- define "bowline.secret" -}}
{{- default "cloud-config" .Values.secret.name }}
{{- end }}

{{/* The ConfigMap that the manager reports into, in modes that report. */}}
{{- define "bowline.report" -}}
{{- include "bowline.fullname" . }}-report
{{- end }}

{{- define "bowline.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* What selects the pods. It never changes: a selector cannot. */}}
{{- define "bowline.selector" -}}
app.kubernetes.io/name: {{ include "bowline.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ if eq .Values.mode "Shadow" }}shadow{{ else }}cloud-controller-manager{{ end }}
{{- end }}

{{- define "bowline.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "bowline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of an object: a dict with "root" and, where it has them, "name", "namespace", "labels" and "annotations". */}}
{{- define "bowline.metadata" -}}
{{- $root := .root -}}
name: {{ default (include "bowline.fullname" $root) .name }}
{{- with .namespace }}
namespace: {{ . }}
{{- end }}
labels:
  {{- include "bowline.labels" $root | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (default (dict) .annotations) $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
