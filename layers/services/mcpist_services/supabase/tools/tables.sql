select
  n.nspname as schema,
  c.relname as name,
  case c.relkind
    when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table'
  end as kind,
  nullif(c.reltuples, -1) as rows,
  case when c.relkind in ('r', 'p') then c.relrowsecurity end as rls,
  (
    select string_agg(
      a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end,
      ', ' order by a.attnum
    )
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ) as columns,
  (
    select string_agg(a.attname, ', ' order by k.place)
    from pg_index i
    cross join unnest(i.indkey::int2[]) with ordinality as k (attnum, place)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    where i.indrelid = c.oid and i.indisprimary and k.place <= i.indnkeyatts
  ) as primary_key,
  obj_description(c.oid, 'pg_class') as comment
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and n.nspname = any (string_to_array($1, ','))
order by n.nspname, c.relname
