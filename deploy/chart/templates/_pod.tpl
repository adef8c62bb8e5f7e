{{/* The pod, as the operator makes it where values say nothing: a test compares them. */}}

{{- define "bowline.probe" -}}
httpGet:
  {{- if .root.Values.hostNetwork }}
  host: 127.0.0.1
  {{- end }}
  path: {{ .path }}
  port: {{ .root.Values.securePort }}
  scheme: HTTPS
failureThreshold: {{ .failures }}
periodSeconds: {{ .period }}
timeoutSeconds: 5
{{- end }}

{{- define "bowline.affinity" -}}
{{- if .Values.affinity }}
{{- toYaml .Values.affinity }}
{{- else }}
{{- if not .Values.nodeSelector }}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
      - matchExpressions:
          - key: node-role.kubernetes.io/control-plane
            operator: Exists
      - matchExpressions:
          - key: node-role.kubernetes.io/master
            operator: Exists
{{- end }}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - labelSelector:
        matchLabels:
          {{- include "bowline.selector" . | nindent 10 }}
      topologyKey: kubernetes.io/hostname
{{- end }}
{{- end }}

{{- define "bowline.environment" -}}
{{- with .Values.apiServer }}
- name: KUBERNETES_SERVICE_HOST
  value: {{ regexReplaceAll ":[0-9]+$" . "" | trimAll "[]" | quote }}
- name: KUBERNETES_SERVICE_PORT
  value: {{ regexFind "[0-9]+$" . | quote }}
{{- end }}
{{- if .Values.trustedCa.configMapName }}
- name: SSL_CERT_FILE
  value: /etc/ssl/certs/ca-certificates.crt
- name: SSL_CERT_DIR
  value: /etc/bowline/trusted-ca
{{- end }}
{{- with .Values.proxy.httpProxy }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.proxy.httpsProxy }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.proxy.noProxy }}
- name: NO_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "bowline.mounts" -}}
{{- if .Values.secret.enabled }}
- name: cloud-config
  mountPath: {{ dir .Values.cloudConfigPath }}
  readOnly: true
{{- end }}
{{- if .Values.credentials.secretName }}
- name: credentials
  mountPath: /etc/openstack/secret
  readOnly: true
{{- end }}
{{- if .Values.trustedCa.configMapName }}
- name: trusted-ca
  mountPath: /etc/bowline/trusted-ca
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "bowline.volumes" -}}
{{- if .Values.secret.enabled }}
- name: cloud-config
  secret:
    secretName: {{ include "bowline.secret" . }}
    defaultMode: 288 # 0440
    items:
      - key: {{ .Values.secret.key }}
        path: {{ base .Values.cloudConfigPath }}
{{- end }}
{{- with .Values.credentials.secretName }}
- name: credentials
  secret:
    secretName: {{ . }}
    defaultMode: 288 # 0440
    items:
      - key: {{ $.Values.credentials.key }}
        path: clouds.yaml
{{- end }}
{{- with .Values.trustedCa.configMapName }}
- name: trusted-ca
  configMap:
    name: {{ . }}
    items:
      - key: {{ $.Values.trustedCa.key }}
        path: ca-bundle.crt
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "bowline.container" -}}
name: cloud-controller-manager
image: {{ include "bowline.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command:
  - bowline
args:
  {{- include "bowline.arguments" . | nindent 2 }}
{{- with include "bowline.environment" . | trim }}
env:
  {{- . | nindent 2 }}
{{- end }}
ports:
  - name: https
    containerPort: {{ .Values.securePort }}
    protocol: TCP
livenessProbe:
  {{- if .Values.livenessProbe }}
  {{- toYaml .Values.livenessProbe | nindent 2 }}
  {{- else }}
  {{- include "bowline.probe" (dict "root" . "path" "/livez" "failures" 6 "period" 10) | nindent 2 }}
  {{- end }}
readinessProbe:
  {{- if .Values.readinessProbe }}
  {{- toYaml .Values.readinessProbe | nindent 2 }}
  {{- else }}
  {{- include "bowline.probe" (dict "root" . "path" "/readyz" "failures" 3 "period" 10) | nindent 2 }}
  {{- end }}
startupProbe:
  {{- if .Values.startupProbe }}
  {{- toYaml .Values.startupProbe | nindent 2 }}
  {{- else }}
  {{- include "bowline.probe" (dict "root" . "path" "/livez" "failures" 60 "period" 5) | nindent 2 }}
  {{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
{{- with include "bowline.mounts" . | trim }}
volumeMounts:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "bowline.pod" -}}
metadata:
  labels:
    {{- include "bowline.selector" . | nindent 4 }}
    {{- with .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: cloud-controller-manager
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "bowline.account" . }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ kindIs "string" . | ternary . (get (kindIs "map" . | ternary . (dict)) "name") }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  hostNetwork: {{ .Values.hostNetwork }}
  dnsPolicy: {{ .Values.dnsPolicy }}
  enableServiceLinks: false
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  affinity:
    {{- include "bowline.affinity" . | trim | nindent 4 }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.extraInitContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - {{- include "bowline.container" . | nindent 6 }}
  {{- with include "bowline.volumes" . | trim }}
  volumes:
    {{- . | nindent 4 }}
  {{- end }}
{{- end }}
