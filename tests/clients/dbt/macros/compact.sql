{% macro compact(table) %}
  {% set rows = run_query("CALL iceberg.system.rewrite_data_files(schema => '" ~ target.schema ~ "', table_name => '" ~ table ~ "')") %}
  {{ log(rows.rows[0].values()[0] ~ " files rewritten", info=True) }}
{% endmacro %}
