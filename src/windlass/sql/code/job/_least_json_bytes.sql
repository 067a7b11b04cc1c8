-- The fewest bytes in which this can be written as JSON.  Limits are on JSON as callers write it, and here is only jsonb.
--
-- The text of jsonb has a space behind every comma and colon, and writes 1e300 out; its size is up to six times that of JSON:
-- 12 bytes for each number of [1,1,...].  All of that is undone here, at times also within strings and numbers.  So what a
-- caller kept within a limit is never refused, and one who did not measure gets little more; where texts are all zeros, six
-- times as much.  Dear for a large value: callers ask only where pg_column_size is above their limit.
-- definer: none
create function windlass._least_json_bytes(p_value jsonb) returns integer
language sql immutable
set search_path = pg_catalog, pg_temp
return greatest(
  octet_length(replace(replace(replace(p_value::text, ', ', ','), ': ', ':'), '00', '')), pg_column_size(p_value) / 6 - 4);
comment on function windlass._least_json_bytes(jsonb) is 'The fewest bytes in which this can be written as JSON.';
