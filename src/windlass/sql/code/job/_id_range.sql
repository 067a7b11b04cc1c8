-- The smallest and the largest of these ids.  Jobs and attempts are kept by day, by their ids: a statement that names the
-- range of those it looks for leaves all other days alone, however many are kept.
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
