-- Whether this is a moment that every client can read, in whatever time zone.  Part of whatever asks, as _is_bad is.
-- definer: none
create function windlass._is_time(p_moment timestamptz) returns boolean
language sql immutable
return p_moment between timestamptz '1970-01-01 00:00:00+00' and timestamptz '9999-12-30 00:00:00+00';
comment on function windlass._is_time(timestamptz) is 'Whether this is a moment that every client can read.';
