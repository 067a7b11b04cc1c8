-- Why this redrive must stop now: its job is to be canceled, or too many of its jobs died again; null if it may go on.
-- definer: none
create function windlass._stop_of(p_redrive windlass_data.redrive) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from windlass_data.cancel_request as c where c.tenant_id = p_redrive.tenant_id and c.job_id = p_redrive.id
  ) then
    return 'its job was canceled';
  elsif p_redrive.ended >= p_redrive.stop_after and p_redrive.died > 0
     and p_redrive.died >= p_redrive.stop_rate * p_redrive.ended then
    return format('%s of %s redriven jobs that ended have died again, and it stops at a share of %s',
                  p_redrive.died, p_redrive.ended, p_redrive.stop_rate);
  end if;
  return null;
end
$$;
comment on function windlass._stop_of(windlass_data.redrive) is 'Why this redrive must stop now.';
