select
  n.nspname as schema,
  c.relname as name,
  case c.relkind
    when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table'
  end as kind,
  nullif(c.reltuples, -1)::bigint as rows,
  obj_description(c.oid, 'pg_class') as comment
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  and ($1::text is null or n.nspname = $1)
  and has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select')
order by n.nspname, c.relname
