-- Refuse a job whose queue or kind is for what Windlass itself enqueues: cluster jobs, redrives.
-- definer: none
create function windlass._refuse_reserved(p_queue text, p_kind text, p_place integer default null) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if starts_with(p_queue, 'windlass.') or starts_with(p_kind, 'windlass.') then
    raise exception '%', concat(
      'job ' || p_place || ' of the batch: ', case when starts_with(p_queue, 'windlass.') then 'queue' else 'kind' end,
      ' must not begin with windlass., which is for Windlass itself')
      using errcode = 'WL007';
  end if;
end
$$;
comment on function windlass._refuse_reserved(text, text, integer) is 'Refuse a job for a queue or of a kind of Windlass itself.';
