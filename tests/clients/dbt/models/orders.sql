{{ config(materialized='table') }}
select id, customer, amount, ordered, paid from {{ ref('raw_orders') }}
