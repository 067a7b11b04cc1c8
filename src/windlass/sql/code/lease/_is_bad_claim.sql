-- Whether a claim asks for what nobody can give.
-- definer: none
create function windlass._is_bad_claim(
  p_node uuid, p_queues text[], p_limit integer, p_lease_seconds double precision, p_lanes integer[], p_marks bigint[],
  p_only boolean) returns boolean
language sql immutable
return
  p_node is null or p_queues is null or array_ndims(p_queues) > 1 or array_position(p_queues, null) is not null
  or coalesce(p_limit, 0) < 1 or p_limit > 10000
  or p_lease_seconds is null or not p_lease_seconds between 0.1 and 86400
  or cardinality(p_lanes) is distinct from cardinality(p_marks) or p_only is null or (p_only and p_lanes is null);
comment on function windlass._is_bad_claim is 'Whether a claim asks for what nobody can give.';
