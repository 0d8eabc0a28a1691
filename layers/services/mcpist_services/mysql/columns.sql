select
  c.column_name as name,
  c.column_type as type,
  lower(c.is_nullable) as nullable,
  nullif(c.column_default, 'NULL') as `default`,
  (
    select group_concat(
      case
        when k.constraint_name = 'PRIMARY' then 'PRIMARY KEY'
        when k.referenced_table_name is null then 'UNIQUE'
        else concat('REFERENCES ', k.referenced_table_name, '(', k.referenced_column_name, ')')
      end order by k.constraint_name separator '; '
    )
    from information_schema.key_column_usage k
    where k.table_schema = c.table_schema and k.table_name = c.table_name and k.column_name = c.column_name
  ) as `keys`,
  nullif(c.column_comment, '') as comment
from information_schema.columns c
where c.table_schema = coalesce(?, database()) and c.table_name = ?
order by c.ordinal_position
