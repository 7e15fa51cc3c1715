{% snapshot orders_history %}
{{ config(target_schema=target.schema, unique_key='id', strategy='check', check_cols=['customer','amount']) }}
select id, customer, amount from {{ ref('orders') }}
{% endsnapshot %}
