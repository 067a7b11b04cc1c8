-- Keep every day where it is until this transaction ends: one that is being dropped is waited for.
--
-- A stable function reads with the snapshot of the statement that calls it.  If it were the first to touch the jobs
-- and waited for a drop, it would miss the jobs that the drop moved; so whoever reads that way calls this first.
-- definer: none
create function windlass._hold_days() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  lock table only windlass_data.job in access share mode;
end
$$;
comment on function windlass._hold_days() is 'Keep days from being dropped until this transaction ends.';
