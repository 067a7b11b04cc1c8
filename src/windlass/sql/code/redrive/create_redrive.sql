-- Revive all dead jobs that pass these filters, in a job of its own whose id is returned: tend_redrive says what it does.
--
-- p_everything: without any filter.  Said twice with the same p_id, it is one redrive.  The row commits with its job.
-- definer: owner
-- grant: operator
create function windlass.create_redrive(
  p_tenant uuid, p_kinds text[] default null, p_queues text[] default null, p_error_like text default null,
  p_died_from timestamptz default null, p_died_to timestamptz default null, p_jobs uuid[] default null,
  p_everything boolean default false, p_patch jsonb default null, p_max_attempts integer default null,
  p_throttle double precision default null, p_stop_rate double precision default null, p_stop_after integer default 20,
  p_expected bigint default null, p_reason text default null, p_actor text default null, p_id uuid default null)
returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_job windlass_data.new_job;
  v_row windlass_data.redrive;
  v_created boolean;
begin
  perform windlass._check_said(p_reason, p_actor);
  v_row.tenant_id := p_tenant;
  v_row.kinds := p_kinds;
  v_row.queues := p_queues;
  v_row.error_like := p_error_like;
  v_row.died_from := p_died_from;
  v_row.died_to := p_died_to;
  v_row.jobs := p_jobs;
  v_row.patch := p_patch;
  if p_max_attempts not between 1 and 32767 then
    raise exception 'a redrive takes a max_attempts from 1 to 32767' using errcode = 'WL007';
  end if;
  v_row.max_attempts := p_max_attempts;
  v_row.throttle := p_throttle;
  v_row.stop_rate := p_stop_rate;
  v_row.stop_after := p_stop_after;
  v_row.expected := p_expected;
  v_row.reason := p_reason;
  perform windlass._check_redrive(v_row, p_everything);

  v_job.id := coalesce(p_id, windlass_data.new_id());
  v_job.kind := 'windlass.redrive';
  v_job.queue := 'windlass.system';
  v_job.payload := '{}';
  v_job.max_attempts := 25;  -- a runner that is killed goes on: only a fault that stays ends it
  select e.job_id, e.created into v_row.id, v_created from windlass._enqueue(p_tenant, array[v_job]) as e;
  if v_created then
    insert into windlass_data.redrive
      (tenant_id, id, kinds, queues, error_like, died_from, died_to, jobs, patch, max_attempts, throttle, stop_rate,
       stop_after, expected, actor, reason, created_at)
    values (p_tenant, v_row.id, p_kinds, p_queues, p_error_like, p_died_from, p_died_to, p_jobs, p_patch, p_max_attempts,
            p_throttle, p_stop_rate, p_stop_after, p_expected, windlass._actor(p_actor), p_reason, windlass_data.clock());
    perform windlass._record(p_tenant, 'redrive.start', v_row.id, p_reason, p_actor, windlass._said_redrive(v_row));
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
  return v_row.id;
end
$$;
comment on function windlass.create_redrive is 'Revive dead jobs in a job of its own; returns its id.';
