-- What is wrong with a retry policy, or null.
--
-- Numbers too small for the arithmetic of _retry_delay are refused here: there they would make the failure itself
-- impossible to record.
-- definer: none
create function windlass._bad_retry(p_retry jsonb) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text;
begin
  if p_retry is null then
    return null;
  elsif jsonb_typeof(p_retry) <> 'object' then
    return 'must be an object with base, factor, cap and jitter';
  elsif p_retry - array['base', 'factor', 'cap', 'jitter'] <> '{}' then
    return 'has a field that is not base, factor, cap or jitter';
  end if;
  foreach v_key in array array['base', 'factor', 'cap'] loop
    if jsonb_typeof(p_retry -> v_key) not in ('number', 'null') then
      return format('has a %s that is not a number', v_key);
    elsif (p_retry ->> v_key)::numeric not between (case v_key when 'factor' then 1 else 0.000001 end) and 1e15
       and (v_key = 'factor' or (p_retry ->> v_key)::numeric <> 0) then
      return format('has a %s out of range', v_key);
    end if;
  end loop;
  if coalesce(p_retry ->> 'jitter', 'full') not in ('none', 'tenth', 'full') then
    return 'has a jitter that is not none, tenth or full';
  end if;
  return null;
end
$$;
comment on function windlass._bad_retry(jsonb) is 'What is wrong with a retry policy, or null.';
