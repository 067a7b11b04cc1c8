-- Whether anything was ever said of what a claim must keep to.  In most installations nothing was, and then a claim learns so
-- from one empty table instead of five: what it looks at is what a lone job waits for.  A row stays for good: taking it
-- back could overtake whoever says something at the same moment.  Two who say the first thing at once both leave one: with
-- a unique key the second would wait for the first to end.
create table windlass_data.said (what text collate "C" not null);
create index said_what on windlass_data.said (what);

create function windlass_data.note_said() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into windlass_data.said (what)
  select tg_table_name where not exists (select from windlass_data.said as s where s.what = tg_table_name);
  return null;
end
$$;
comment on function windlass_data.note_said() is 'Note that something was said in the table that was written.';
revoke all on function windlass_data.note_said() from public;

create trigger said after insert on windlass_data.gate
  for each statement execute function windlass_data.note_said();
create trigger said after insert on windlass_data.queue
  for each statement execute function windlass_data.note_said();
create trigger said after insert on windlass_data.role_tenant
  for each statement execute function windlass_data.note_said();
create trigger said after insert or update on windlass_data.tenant
  for each row when (new.weight <> 1) execute function windlass_data.note_said();
create trigger said after insert or update on windlass_data.job_limit
  for each row when (new.claims) execute function windlass_data.note_said();

-- What was said before this.  The owner sees all of it only for these statements.
alter table windlass_data.gate no force row level security;
alter table windlass_data.role_tenant no force row level security;
alter table windlass_data.tenant no force row level security;
alter table windlass_data.job_limit no force row level security;
insert into windlass_data.said (what)
select 'gate' where exists (select from windlass_data.gate)
union all select 'queue' where exists (select from windlass_data.queue)
union all select 'role_tenant' where exists (select from windlass_data.role_tenant)
union all select 'tenant' where exists (select from windlass_data.tenant as t where t.weight <> 1)
union all select 'job_limit' where exists (select from windlass_data.job_limit as m where m.claims);
alter table windlass_data.gate force row level security;
alter table windlass_data.role_tenant force row level security;
alter table windlass_data.tenant force row level security;
alter table windlass_data.job_limit force row level security;
