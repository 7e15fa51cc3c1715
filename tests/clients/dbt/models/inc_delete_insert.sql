{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='id') }}
select id, customer, amount, ordered from {{ ref('orders') }}
{% if is_incremental() %} where id > 1 {% endif %}
