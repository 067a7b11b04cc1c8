-- The smallest and the largest of these ids.  Jobs and attempts are kept by day, by their ids: a statement that names the
-- range of those it looks for leaves all other days alone, however many are kept.
--
-- For statements that only read.  Where one also locks or updates the rows, and looks each of them up by a join, PostgreSQL 18
-- leaves days out twice when it meets a row that somebody has just changed, and crashes (seen with 18.6).
-- definer: none
create function windlass._id_range(p_ids uuid[], out first uuid, out last uuid)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_sorted uuid[] := p_ids;
begin
  if cardinality(p_ids) > 1 then
    v_sorted := array(select i from unnest(p_ids) as i order by i);
  end if;
  first := v_sorted[1];
  last := v_sorted[cardinality(v_sorted)];
end
$$;
comment on function windlass._id_range(uuid[]) is 'The smallest and the largest of these ids.';
