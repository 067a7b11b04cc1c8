-- Seconds to wait after the n-th counted failure (n from 1), for a random number in [0, 1).
--
-- The growth is compared with the cap as logarithms before any power is taken, so no attempt number overflows; the
-- margin of 1 leaves close cases to the exact comparison.  Jitter may go beyond a cap, and never beyond ten years.
-- definer: none
create function windlass._retry_delay(p_retry jsonb, p_n integer, p_random double precision) returns double precision
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_base double precision := coalesce((p_retry ->> 'base')::double precision, 1);
  v_factor double precision := coalesce((p_retry ->> 'factor')::double precision, 2);
  v_cap double precision := case when p_retry ? 'cap' then (p_retry ->> 'cap')::double precision else 3600 end;
  v_raw double precision;
begin
  v_cap := least(v_cap, 315360000);  -- a cap of null is passed over
  if v_base <= 0 or v_cap <= 0 then
    return 0;
  elsif (greatest(p_n, 1) - 1)::double precision * ln(v_factor) > ln(v_cap) - ln(v_base) + 1 then
    v_raw := v_cap;
  else
    v_raw := least(v_cap, v_base * power(v_factor, greatest(p_n, 1) - 1));
  end if;
  return case coalesce(p_retry ->> 'jitter', 'full')
    when 'none' then v_raw
    when 'tenth' then v_raw + (least(1.1 * v_raw, 315360000) - v_raw) * p_random
    else v_raw * p_random
  end;
end
$$;
comment on function windlass._retry_delay(jsonb, integer, double precision) is
  'Seconds until the next attempt under a retry policy.';
