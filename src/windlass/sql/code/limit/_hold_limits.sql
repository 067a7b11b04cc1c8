-- Hold these limits until the transaction ends; returns those that are held.  What their rooms are must be asked in a
-- later statement: it sees the leases of whoever held them before.
--
-- In order of their ids, so that nobody waits in a circle.  Claims are short, so one waits for the other, but not for
-- long: behind somebody who claimed in a transaction that he keeps open, others move past the limit.
-- definer: none
create function windlass._hold_limits(p_limits integer[], p_wait boolean) returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    return '{}';  -- a snapshot from before shows no other's leases: nothing is let start under a limit
  elsif p_wait then
    begin
      return array(
        select u.limit_id from windlass_data.limit_use as u
        where u.limit_id = any (p_limits) order by u.limit_id
        for no key update);
    exception when lock_not_available then
      null;
    end;
  end if;
  return array(
    select u.limit_id from windlass_data.limit_use as u
    where u.limit_id = any (p_limits) order by u.limit_id
    for no key update skip locked);
end
$$;
comment on function windlass._hold_limits is 'Hold limits until the transaction ends.';
