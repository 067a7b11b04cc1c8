-- Take up to p_limit jobs out of these lanes onto fresh leases, from p_marks on: the caller knows of nothing before them
-- (see survey_lanes).  With p_limited no more than the limits on these lanes leave: one that may give nothing more
-- stands aside, and the others go on.
-- definer: none
create function windlass._take_ready(
  p_node uuid, p_lanes integer[], p_priorities integer[], p_flows text[], p_weights integer[], p_one_line boolean[],
  p_marks bigint[], p_firsts bigint[], p_limit integer, p_now timestamptz, p_lease double precision,
  p_limited boolean, p_wait boolean, p_begins boolean,
  out tokens uuid[], out tenants uuid[], out lanes integer[], out jobs uuid[], out versions integer[],
  out counted integer[], out ends timestamptz[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_turn record;
  v_part record;
  v_took record;
  v_got integer;
  v_left integer := p_limit;
  v_shut integer[];
  v_got_none integer[];
begin
  while cardinality(p_lanes) > 0 and v_left > 0 loop
    select t.* into v_turn
    from windlass._next_turn(p_lanes, p_priorities, p_flows, p_weights, p_one_line, p_marks, p_firsts, v_shut, v_left,
                             extract(microseconds from p_now)::bigint) as t;
    exit when v_turn.lanes is null;
    if p_limited then
      select a.* into v_part
      from windlass._allot(v_turn.lanes, v_turn.offers, p_now, p_wait and v_shut is null and jobs is null) as a;
    else
      select v_turn.offers as offers, null::integer[] as shut into v_part;
    end if;
    select t.* into v_took
    from windlass._take_turn(
      p_node, v_turn.lanes, v_turn.priorities, v_turn.places, v_turn.ranks, v_turn.weights, v_turn.marks, v_turn.shares,
      v_part.offers, v_left, p_lease, p_begins) as t;
    v_got := coalesce(cardinality(v_took.jobs), 0);
    if v_got > 0 then
      tokens := tokens || v_took.tokens;
      tenants := tenants || v_took.tenants;
      lanes := lanes || v_took.lanes;
      jobs := jobs || v_took.jobs;
      versions := versions || v_took.versions;
      counted := counted || v_took.counted;
      ends := ends || v_took.ends;
      v_left := v_left - v_got;
      if p_limited then
        -- From when they start by their records: a bucket that counted from before would let the next ones start too soon.
        perform windlass._use_limits(v_took.lanes, v_took.ends[1] - make_interval(secs => p_lease));
      end if;
    end if;
    if p_limited then
      -- Those that may give nothing, and at the first sight of one all of them, or each would cost a round; and those that
      -- were allotted something and gave nothing, because somebody holds their jobs.
      v_got_none := array(
        select o.lane_id from unnest(v_turn.lanes, v_part.offers) as o(lane_id, offer)
        where o.offer > 0 and o.lane_id <> all (coalesce(v_took.lanes, '{}')));
      if v_part.shut is not null and v_shut is null then
        v_shut := windlass._shut_lanes(p_lanes, p_now);
      end if;
      v_shut := v_shut || v_part.shut || v_got_none;
    end if;
    if v_part.offers = v_turn.offers then
      -- Where no flow can have given its share, nothing is left; a strict one may have given all of one priority.
      exit when v_got = 0 or (v_got < v_turn.share and not v_turn.one_line);
    else
      exit when v_got = 0 and v_part.shut is null and v_got_none = '{}';
    end if;
  end loop;
end
$$;
comment on function windlass._take_ready is 'Take jobs out of line onto fresh leases.';
