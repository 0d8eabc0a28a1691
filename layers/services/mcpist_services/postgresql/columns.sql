select
  a.attname as name,
  format_type(a.atttypid, a.atttypmod) as type,
  not a.attnotnull as nullable,
  pg_get_expr(d.adbin, d.adrelid) as "default",
  (
    select string_agg(pg_get_constraintdef(k.oid), '; ' order by k.contype desc, k.conname)
    from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'f') and a.attnum = any (k.conkey)
  ) as keys,
  col_description(c.oid, a.attnum) as comment
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname = coalesce($1::text, 'public') and c.relname = $2
order by a.attnum
