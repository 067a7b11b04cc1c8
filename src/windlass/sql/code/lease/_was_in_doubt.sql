-- Whether a job was given back in doubt before this version of it, and has not begun for certain since: attempts that are known
-- not to have begun in between change nothing.  p_first and p_last: a range of ids in which its own lies.
-- definer: none
create function windlass._was_in_doubt(p_tenant uuid, p_job uuid, p_version integer, p_first uuid, p_last uuid) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select a.error @> '{"begun": null}'
    from windlass_data.attempt as a
    where a.tenant_id = p_tenant and a.job_id = p_job and a.version < p_version and a.job_id between p_first and p_last
      and not (a.outcome = 'released' and coalesce(a.error @> '{"begun": false}', false))
    order by a.version desc
    limit 1) is true;
end
$$;
comment on function windlass._was_in_doubt is 'Whether a job was given back in doubt before.';
