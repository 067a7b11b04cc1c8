-- How many jobs of these lanes wait, are put off and run.  Waiting ones are counted up to 10,000 per lane, so that
-- the work stays bounded: a sum of 10,000 or more may mean more.
--
-- Indexes are walked in their order whatever the statistics say: a plan that sorts would read the whole line first.
-- definer: none
create function windlass._load_of(p_lanes integer[])
returns table (lane_id integer, ready bigint, scheduled bigint, running bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select l.id,
         (select count(*) from (
            select from windlass_data.ready as r
            where r.lane_id = l.id order by r.lane_id, r.seq limit 10000) as r),
         (select count(*) from (
            select from windlass_data.scheduled as s
            where s.lane_id = l.id order by s.lane_id, s.job_id limit 10000) as s),
         (select coalesce(sum(le.open), 0) from windlass_data.lane as la
          join windlass_data.lease as le on le.tenant_id = la.tenant_id and le.lane_id = la.id
          where la.id = l.id)
  from unnest(p_lanes) as l(id)
$$;
comment on function windlass._load_of(integer[]) is 'How many jobs of these lanes wait, are put off and run.';
