-- A fault of the chain in words, from the place before it to its own.
-- definer: none
create function windlass._fault_message(p_fault text, p_before bigint, p_place bigint) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case p_fault
    when 'seal_removed' then case
      when p_place <= p_before then format('a seal was inserted at place %s, before the chain begins', p_place)
      when p_place = p_before + 2 then format('the seal of place %s was removed', p_place - 1)
      else format('the seals of places %s to %s were removed', p_before + 1, p_place - 1) end
    when 'event_removed' then format('the event at place %s was removed', p_place)
    when 'event_altered' then format('the event at place %s was altered: it is not what was sealed', p_place)
    when 'seal_altered' then case
      when p_place = 1 then 'the seal of place 1 was altered, or put there by hand'
      else format('the seal of place %s does not follow from that of place %s: one of the two was altered', p_place, p_before)
      end end;
end
$$;
comment on function windlass._fault_message(text, bigint, bigint) is 'A fault of the chain in words.';
