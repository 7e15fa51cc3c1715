{{- define "procession.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- define "procession.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "procession.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "procession.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- define "procession.selector" -}}
app.kubernetes.io/name: {{ include "procession.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: coordinator
{{- end -}}
{{- define "procession.labels" -}}
{{ include "procession.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- define "procession.check" -}}
{{- if and (gt (int .Values.coordinator.replicas) 1) (not .Values.state.enabled) -}}
{{- fail "coordinator.replicas above 1 needs state.enabled=true and a PostgreSQL (docs/several-coordinators.md)" -}}
{{- end -}}
{{- end -}}
