-- A time as a sentence for people has it, whatever the session's TimeZone and DateStyle are.
-- definer: none
create function windlass._shown_time(p_at timestamptz) returns text
language sql stable
return to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
comment on function windlass._shown_time is 'A time for people: ISO 8601 in UTC, to the millisecond.';
