-- The next jobs that a redrive is for, up to p_size of them, and how far the cursor moves with them; `upto` null: none is left.
--
-- Looks at 500 dead jobs at a time, and at 5,000 at most: there may be a cursor to move and no job to revive.
-- definer: none
create function windlass._next_slice(
  p_redrive windlass_data.redrive, p_size integer, out upto uuid, out jobs uuid[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last uuid := p_redrive.cursor;
begin
  for v_round in 1..10 loop
    select (array_agg(p.job_id order by p.job_id desc) filter (where p.nth <= p_size))[1],
           array_agg(p.job_id order by p.job_id) filter (where p.matches and p.nth <= p_size)
    into v_last, jobs
    from (
      select d.*, count(*) filter (where d.matches) over (order by d.job_id) as nth
      from windlass._dead_page(p_redrive, v_last, 500) as d
    ) as p;
    exit when v_last is null;
    upto := v_last;
    exit when jobs is not null;
  end loop;
end
$$;
comment on function windlass._next_slice is 'The next jobs that a redrive is for.';
