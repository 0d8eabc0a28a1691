select
  table_schema as `schema`,
  table_name as name,
  case table_type when 'BASE TABLE' then 'table' else lower(table_type) end as kind,
  table_rows as `rows`,
  nullif(nullif(table_comment, ''), 'VIEW') as comment
from information_schema.tables
where table_schema = coalesce(?, table_schema)
  and table_schema not in ('information_schema', 'mysql', 'performance_schema', 'sys')
order by table_schema, table_name
