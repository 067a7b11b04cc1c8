-- Refuse a job whose queue is for what Windlass itself enqueues: cluster jobs, redrives.
-- definer: none
create function windlass._refuse_reserved(p_queue text, p_place integer default null) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if starts_with(p_queue, 'windlass.') then
    raise exception '%queue must not begin with windlass., which is for Windlass itself',
      coalesce('job ' || p_place || ' of the batch: ', '')
      using errcode = 'WL007';
  end if;
end
$$;
comment on function windlass._refuse_reserved(text, integer) is 'Refuse a job for a queue of Windlass itself.';
