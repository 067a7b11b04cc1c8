------------------------------ MODULE Cluster ------------------------------
(* One cluster job: its parts, the leader, the quorum, and the leader's action. *)
(*                                                                             *)
(* One action is one call of a SQL function, or one of the things that a turn  *)
(* of a node (tend_cluster) does one after the other: there are more orders    *)
(* here than in the database, never fewer.  A token, once issued, may be used  *)
(* at any later moment and any number of times, also when its node is dead:    *)
(* late words, words said twice, and nodes that were paused or cut off.        *)
(* docs/protocol.md names the function behind each action.                     *)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Names,           \* of nodes
  Restarting,      \* those of them that may be started a second time
  Terms,           \* how many terms may begin
  PartClaims,      \* how often each part may be claimed
  PartAttempts,    \* how many of its attempts count
  ActionClaims,    \* how often the action may be claimed
  ActionAttempts,  \* how many of its attempts count
  GiveBacks,       \* whether attempts may be released
  Operators,       \* whether somebody may cancel or hurry the job
  Quorum,          \* "majority" or "all"
  Policy,          \* what follows when the time is up: "proceed", "fail" or "wait"
  Prompt,          \* whether a node that lives renews its leases in time
  Deaths,          \* how many nodes may end
  Broken           \* "nothing", or the guard that is left out

VARIABLES
  life,            \* of each node: "unborn", "up" or "down"
  member,          \* whether its lease as a member lasts
  leader, term,    \* the one row: who leads, in which term
  lasts,           \* whether the leader's lease lasts
  part,            \* each node's part, by the node it was made for
  needed, verdict, timeUp, closed,
  line,            \* where the job waits: "no", "parked" or "ready"
  act,             \* the leases on the action, by version: [node, term, open, overdue]
  counted,         \* attempts of the action that count
  ended,           \* "no", "succeeded", "dead" or "canceled"
  reigns, begun, accepted, decided, hurried, misled, misused, stolen, foreign, eyed

vars == <<life, member, leader, term, lasts, part, needed, verdict, timeUp, closed, line, act, counted, ended,
          reigns, begun, accepted, decided, hurried, misled, misused, stolen, foreign, eyed>>
nodes == <<life, member>>
lead == <<leader, term, lasts, reigns, eyed>>
parts == <<part, needed, timeUp, decided>>
action == <<act, counted, begun, accepted>>
job == <<verdict, line, ended>>

Nodes == {<<m, 1>> : m \in Names} \cup {<<m, 2>> : m \in Restarting}
Nobody == <<"nobody", 0>>
NoPart == [state |-> "none", version |-> 0, counted |-> 0, tried |-> 0, overdue |-> FALSE, owner |-> Nobody]
NoLease == [node |-> Nobody, term |-> 0, open |-> FALSE, overdue |-> FALSE]
Versions == 1 .. ActionClaims

Created == \E p \in Nodes : part[p].state # "none"
Leads(n) == leader = n /\ lasts
Up(n) == n \in Nodes /\ life[n] = "up"
Late(n) == Prompt => ~Up(n)
Issued(v) == act[v].node # Nobody
Claims == Cardinality({v \in Versions : Issued(v)})

Init ==
  /\ life = [n \in Nodes |-> "unborn"] /\ member = [n \in Nodes |-> FALSE]
  /\ leader = Nobody /\ term = 0 /\ lasts = FALSE
  /\ part = [n \in Nodes |-> NoPart]
  /\ needed = 0 /\ verdict = "none" /\ timeUp = FALSE /\ closed = FALSE
  /\ line = "no" /\ act = [v \in Versions |-> NoLease] /\ counted = 0 /\ ended = "no"
  /\ reigns = {} /\ begun = {} /\ accepted = {} /\ decided = [done |-> 0, of |-> 0]
  /\ hurried = FALSE /\ misled = FALSE /\ misused = FALSE /\ stolen = FALSE /\ foreign = FALSE
  /\ eyed = [n \in Nodes |-> 0]

-----------------------------------------------------------------------------
(* Nodes *)

Start(n) ==
  /\ life[n] = "unborn" /\ (n[2] = 2 => life[<<n[1], 1>>] # "unborn")
  /\ life' = [life EXCEPT ![n] = "up"]
  /\ UNCHANGED <<member, lead, parts, action, job, closed, hurried, misled, misused, stolen, foreign>>

Join(n) ==
  /\ Up(n) /\ ~member[n]
  /\ member' = [member EXCEPT ![n] = TRUE]
  /\ UNCHANGED <<life, lead, parts, action, job, closed, hurried, misled, misused, stolen, foreign>>

Ended == Cardinality({n \in Nodes : life[n] = "down"})

\* Without a word: its leases last until they run out.  A node that only falls silent needs no step.
Die(n) ==
  /\ Up(n) /\ Ended < Deaths
  /\ life' = [life EXCEPT ![n] = "down"]
  /\ UNCHANGED <<member, lead, parts, action, job, closed, hurried, misled, misused, stolen, foreign>>

Stop(n) ==
  /\ Up(n) /\ Ended < Deaths
  /\ life' = [life EXCEPT ![n] = "down"]
  /\ member' = [member EXCEPT ![n] = FALSE]
  /\ IF leader = n THEN leader' = Nobody /\ lasts' = FALSE ELSE UNCHANGED <<leader, lasts>>
  /\ UNCHANGED <<term, reigns, eyed, parts, action, job, closed, hurried, misled, misused, stolen, foreign>>

MemberLapses(n) ==
  /\ member[n] /\ Late(n)
  /\ member' = [member EXCEPT ![n] = FALSE]
  /\ UNCHANGED <<life, lead, parts, action, job, closed, hurried, misled, misused, stolen, foreign>>

-----------------------------------------------------------------------------
(* The leader *)

\* Only where the election is broken: it looks first, and acts on what it saw.
Look(n) ==
  /\ Broken = "the election does not look again" /\ Up(n) /\ ~lasts /\ term < Terms /\ eyed[n] = 0
  /\ eyed' = [eyed EXCEPT ![n] = term + 1]
  /\ UNCHANGED <<nodes, leader, term, lasts, reigns, parts, action, job, closed, hurried, misled, misused, stolen, foreign>>

Elect(n) ==
  /\ Up(n) /\ leader # n
  /\ CASE Broken = "the election does not look again" -> eyed[n] > 0
       [] Broken = "the leader's lease is not waited for" -> term < Terms
       [] OTHER -> term < Terms /\ ~lasts
  /\ LET next == IF Broken = "the election does not look again" THEN eyed[n] ELSE term + 1
     IN term' = next /\ reigns' = reigns \cup {<<next, n>>}
  /\ leader' = n /\ lasts' = TRUE
  /\ eyed' = [eyed EXCEPT ![n] = 0]
  /\ stolen' = (stolen \/ (lasts /\ Broken = "the leader's lease is not waited for"))
  /\ UNCHANGED <<nodes, parts, action, job, closed, hurried, misled, misused, foreign>>

\* Also when it was away for longer than its lease, if nobody was there first.
RenewLead(n) ==
  /\ Up(n) /\ leader = n /\ ~lasts
  /\ lasts' = TRUE
  /\ UNCHANGED <<nodes, leader, term, reigns, eyed, parts, action, job, closed, hurried, misled, misused, stolen, foreign>>

LeadLapses ==
  /\ lasts /\ Late(leader)
  /\ lasts' = FALSE
  /\ UNCHANGED <<nodes, leader, term, reigns, eyed, parts, action, job, closed, hurried, misled, misused, stolen, foreign>>

-----------------------------------------------------------------------------
(* Creation, and what follows the parts *)

Enough(n) ==
  IF Quorum = "all" THEN n
  ELSE IF Broken = "half is enough" THEN (n + 1) \div 2 ELSE n \div 2 + 1

Create(n) ==
  LET made == {m \in Nodes : member[m]}
  IN /\ ~Created /\ made # {}
     /\ \/ Leads(n)
        \/ Broken = "creation without term check" /\ \E t \in 1 .. Terms : <<t, n>> \in reigns
     /\ part' = [m \in Nodes |->
          IF m \in made THEN [NoPart EXCEPT !.state = "queued", !.owner = m] ELSE NoPart]
     /\ needed' = Enough(Cardinality(made))
     /\ line' = IF Broken = "the job is not parked" THEN "ready" ELSE "parked"
     /\ misled' = (misled \/ ~Leads(n))
     /\ UNCHANGED <<nodes, lead, timeUp, decided, action, verdict, ended, closed, hurried, misused, stolen, foreign>>

Succeeded(P) == {p \in Nodes : P[p].state = "succeeded"}
Counting(P) == {p \in Nodes : P[p].state \notin {"none", "dropped"}}

\* Decide what follows these parts, once that can be decided.
Settle(P, enough, up) ==
  LET done == Cardinality(Succeeded(P)) + (IF Broken = "failed parts count"
                THEN Cardinality({p \in Nodes : P[p].state = "failed"}) ELSE 0)
      open == Cardinality({p \in Nodes : P[p].state \in {"queued", "running"}})
      found == IF verdict # "none" THEN "none"
               ELSE IF done >= enough THEN "quorum"
               ELSE IF done + open < enough THEN "impossible"
               ELSE IF up /\ Policy # "wait" THEN "timeout" ELSE "none"
      goes == found = "quorum" \/ (found # "none" /\ Policy = "proceed")
      waits == line \in {"parked", "ready"}
  IN /\ part' = P /\ needed' = enough /\ timeUp' = up
     /\ verdict' = IF found = "none" THEN verdict ELSE found
     /\ line' = IF found # "none" /\ waits THEN (IF goes THEN "ready" ELSE "no") ELSE line
     /\ ended' = IF found # "none" /\ waits /\ ~goes THEN "dead" ELSE ended
     /\ decided' = IF found = "quorum"
                   THEN [done |-> Cardinality(Succeeded(P)), of |-> Cardinality(Counting(P))] ELSE decided

SettleDue(n) ==
  /\ Leads(n) /\ Up(n) /\ Created /\ verdict = "none" /\ ~timeUp /\ ended = "no"
  /\ Settle(part, needed, TRUE)
  /\ UNCHANGED <<nodes, lead, action, closed, hurried, misled, misused, stolen, foreign>>

-----------------------------------------------------------------------------
(* Parts *)

ClaimPart(n, p) ==
  /\ Up(n) /\ part[p].state = "queued" /\ part[p].version < PartClaims
  /\ part[p].owner = n \/ Broken = "any node claims any part"
  /\ part' = [part EXCEPT ![p] = [@ EXCEPT !.state = "running", !.version = @ + 1, !.overdue = FALSE]]
  /\ foreign' = (foreign \/ part[p].owner # n)
  /\ UNCHANGED <<nodes, lead, needed, timeUp, decided, action, job, closed, hurried, misled, misused, stolen>>

RenewPart(p) ==
  /\ part[p].state = "running" /\ part[p].overdue
  /\ part' = [part EXCEPT ![p].overdue = FALSE]
  /\ UNCHANGED <<nodes, lead, needed, timeUp, decided, action, job, closed, hurried, misled, misused, stolen, foreign>>

PartLapses(p) ==
  /\ part[p].state = "running" /\ ~part[p].overdue /\ Late(part[p].owner)
  /\ part' = [part EXCEPT ![p].overdue = TRUE]
  /\ UNCHANGED <<nodes, lead, needed, timeUp, decided, action, job, closed, hurried, misled, misused, stolen, foreign>>

\* A running part after the end of its attempt.
After(p, outcome) ==
  LET adds == IF outcome = "released" \/ (outcome = "crashed" /\ Broken = "a crash does not count") THEN 0 ELSE 1
      n == part[p].counted + adds
      state == IF outcome = "succeeded" THEN "succeeded"
               ELSE IF outcome # "released" /\ (n >= PartAttempts \/ closed) THEN "failed"
               ELSE IF closed THEN "canceled" ELSE "queued"
  IN [part[p] EXCEPT !.state = state, !.counted = n, !.tried = @ + (IF outcome = "released" THEN 0 ELSE 1), !.overdue = FALSE]

EndPart(p, v, outcome) ==
  /\ part[p].state = "running" /\ v <= part[p].version /\ (outcome = "released" => GiveBacks)
  /\ v = part[p].version \/ Broken = "a part without its token"
  /\ Settle([part EXCEPT ![p] = After(p, outcome)], needed, timeUp)
  /\ misused' = (misused \/ v # part[p].version)
  /\ UNCHANGED <<nodes, lead, action, closed, hurried, misled, stolen, foreign>>

ExpirePart(n, p) ==
  /\ Leads(n) /\ Up(n) /\ part[p].state = "running"
  /\ part[p].overdue \/ Broken = "a part is not waited for"
  /\ Settle([part EXCEPT ![p] = After(p, "crashed")], needed, timeUp)
  /\ stolen' = (stolen \/ ~part[p].overdue)
  /\ UNCHANGED <<nodes, lead, action, closed, hurried, misled, misused, foreign>>

\* A node takes up what an earlier life of its name left behind, or takes it out where it has a part itself.
Adopt(n, p) ==
  LET old == part[p].owner
      doubled == \E q \in Nodes : part[q].owner = n /\ Broken # "a node may have two parts"
      after == IF part[p].state = "running" THEN After(p, "crashed") ELSE part[p]
      fewer == Cardinality(Counting(part)) - 1
  IN /\ Up(n) /\ part[p].state \in {"queued", "running"} /\ old # n /\ old[1] = n[1]
     /\ ~member[old] \/ Broken = "a member's part is taken"
     /\ IF doubled
        THEN /\ Broken # "earlier lives stay in the quorum"
             /\ Settle([part EXCEPT ![p].state = "dropped"], IF verdict = "none" THEN Enough(fewer) ELSE needed, timeUp)
        ELSE Settle([part EXCEPT ![p] = IF after.state = "queued" THEN [after EXCEPT !.owner = n] ELSE after],
                    needed, timeUp)
     /\ stolen' = (stolen \/ member[old])
     /\ UNCHANGED <<nodes, lead, action, closed, hurried, misled, misused, foreign>>

Close(n) ==
  /\ Leads(n) /\ Up(n) /\ ended # "no" /\ ~closed
  /\ closed' = TRUE
  /\ part' = [p \in Nodes |->
       IF part[p].state = "queued" THEN [part[p] EXCEPT !.state = IF ended = "succeeded" THEN "skipped" ELSE "canceled"]
       ELSE IF part[p].state = "running" /\ ended # "succeeded" THEN [part[p] EXCEPT !.state = "canceled"] ELSE part[p]]
  /\ UNCHANGED <<nodes, lead, needed, timeUp, decided, action, job, hurried, misled, misused, stolen, foreign>>

-----------------------------------------------------------------------------
(* The action *)

ClaimAction(n) ==
  /\ line = "ready" /\ Up(n) /\ Claims < ActionClaims
  /\ Leads(n) \/ Broken = "followers claim the action"
  /\ act' = [act EXCEPT ![Claims + 1] = [NoLease EXCEPT !.node = n, !.open = TRUE]]
  /\ line' = "no"
  /\ foreign' = (foreign \/ ~Leads(n))
  /\ UNCHANGED <<nodes, lead, parts, verdict, ended, counted, begun, accepted, closed, hurried, misled, misused, stolen>>

BeginAction(v) ==
  /\ act[v].open /\ act[v].term = 0
  /\ Leads(act[v].node) \/ Broken = "no term check"
  /\ act' = [act EXCEPT ![v].term = term]
  /\ begun' = begun \cup {<<term, act[v].node>>}
  /\ verdict' = IF verdict = "none" THEN "forced" ELSE verdict
  /\ UNCHANGED <<nodes, lead, parts, line, ended, counted, accepted, closed, hurried, misled, misused, stolen, foreign>>

\* The attempt ends; the job goes back into line unless it has ended.
EndAttempt(v, outcome) ==
  LET n == counted + (IF outcome = "released" THEN 0 ELSE 1)
      over == outcome = "succeeded" \/ n >= ActionAttempts
  IN /\ act' = [act EXCEPT ![v].open = FALSE]
     /\ counted' = n
     /\ ended' = IF outcome = "succeeded" THEN "succeeded" ELSE IF n >= ActionAttempts THEN "dead" ELSE ended
     /\ line' = IF over THEN line ELSE "ready"
     /\ accepted' = IF outcome = "succeeded" THEN accepted \cup {<<v, act[v].term>>} ELSE accepted

\* A success is said of what has begun; what may not begin is given back.
EndAction(v, outcome) ==
  /\ act[v].open /\ (act[v].term > 0 <=> outcome # "released") /\ (outcome = "released" => GiveBacks)
  /\ EndAttempt(v, outcome)
  /\ UNCHANGED <<nodes, lead, parts, begun, verdict, closed, hurried, misled, misused, stolen, foreign>>

ActionLapses(v) ==
  /\ act[v].open /\ ~act[v].overdue /\ Late(act[v].node)
  /\ act' = [act EXCEPT ![v].overdue = TRUE]
  /\ UNCHANGED <<nodes, lead, parts, counted, begun, accepted, job, closed, hurried, misled, misused, stolen, foreign>>

ExpireAction(v) ==
  /\ act[v].open /\ act[v].overdue
  /\ EndAttempt(v, "crashed")
  /\ UNCHANGED <<nodes, lead, parts, begun, verdict, closed, hurried, misled, misused, stolen, foreign>>

EndStale(n, v) ==
  /\ Leads(n) /\ Up(n) /\ act[v].open /\ act[v].node # n
  /\ IF Broken = "the last leader's lease is left" THEN line' = "ready" /\ UNCHANGED <<act, counted, accepted, ended>>
     ELSE EndAttempt(v, "crashed")
  /\ UNCHANGED <<nodes, lead, parts, begun, verdict, closed, hurried, misled, misused, stolen, foreign>>

-----------------------------------------------------------------------------
(* Operators *)

Cancel ==
  /\ Operators /\ line # "no"
  /\ line' = "no" /\ ended' = "canceled"
  /\ UNCHANGED <<nodes, lead, parts, action, verdict, closed, hurried, misled, misused, stolen, foreign>>

Hurry ==
  /\ Operators /\ line = "parked"
  /\ line' = "ready" /\ hurried' = TRUE
  /\ UNCHANGED <<nodes, lead, parts, action, verdict, ended, closed, misled, misused, stolen, foreign>>

-----------------------------------------------------------------------------

Next ==
  \/ LeadLapses \/ Cancel \/ Hurry
  \/ \E n \in Nodes :
       \/ Start(n) \/ Join(n) \/ Die(n) \/ Stop(n) \/ MemberLapses(n)
       \/ Look(n) \/ Elect(n) \/ RenewLead(n) \/ Create(n) \/ SettleDue(n) \/ Close(n) \/ ClaimAction(n)
  \/ \E p \in Nodes : RenewPart(p) \/ PartLapses(p)
  \/ \E n \in Nodes, p \in Nodes : ClaimPart(n, p) \/ ExpirePart(n, p) \/ Adopt(n, p)
  \/ \E p \in Nodes, v \in 1 .. PartClaims, outcome \in {"succeeded", "failed", "released"} : EndPart(p, v, outcome)
  \/ \E v \in Versions : BeginAction(v) \/ ActionLapses(v) \/ ExpireAction(v)
  \/ \E v \in Versions, outcome \in {"succeeded", "failed", "released"} : EndAction(v, outcome)
  \/ \E n \in Nodes, v \in Versions : EndStale(n, v)

Spec == Init /\ [][Next]_vars

\* Nodes that live take their turns and end what they began; time goes on; who died is started again.
Fairness ==
  /\ WF_vars(LeadLapses)
  /\ \A n \in Nodes :
       /\ WF_vars(Start(n)) /\ WF_vars(Join(n)) /\ WF_vars(MemberLapses(n)) /\ WF_vars(Elect(n))
       /\ WF_vars(RenewLead(n)) /\ WF_vars(SettleDue(n)) /\ WF_vars(Close(n)) /\ WF_vars(ClaimAction(n))
  /\ \A p \in Nodes :
       /\ WF_vars(PartLapses(p))
       /\ WF_vars(Up(part[p].owner) /\ \E o \in {"succeeded", "failed"} : EndPart(p, part[p].version, o))
  /\ \A n \in Nodes, p \in Nodes : WF_vars(ClaimPart(n, p)) /\ WF_vars(ExpirePart(n, p)) /\ WF_vars(Adopt(n, p))
  /\ \A v \in Versions :
       /\ WF_vars(ActionLapses(v)) /\ WF_vars(ExpireAction(v))
       /\ WF_vars(Up(act[v].node) /\ BeginAction(v))
       /\ WF_vars(Up(act[v].node) /\ \E o \in {"succeeded", "failed"} : EndAction(v, o))
  /\ \A n \in Nodes, v \in Versions : WF_vars(EndStale(n, v))

FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* What stays true *)

OneLeaderPerTerm == \A a, b \in reigns : a[1] = b[1] => a = b

CreatedByTheLeader == ~misled

\* A part is claimed by its own node, and the action by the leader.
ClaimedByWhomItIsFor == ~foreign

StaleTokenChangesNothing == ~misused

\* Neither a leader's lease, nor a part's, nor the part of a member is taken before its time.
OnlyTheOverdueIsTaken == ~stolen

ExactlyOnePlace ==
  Created => (IF line = "no" THEN 0 ELSE 1) + Cardinality({v \in Versions : act[v].open})
             + (IF ended = "no" THEN 0 ELSE 1) = 1

\* Only what was given back does not count.
NoPartBeyondItsAttempts == \A p \in Nodes : part[p].state \in {"queued", "running"} => part[p].tried < PartAttempts

OnePartPerNode ==
  \A n \in Nodes : Cardinality({p \in Nodes : part[p].owner = n /\ part[p].state # "dropped"}) <= 1

QuorumIsReal ==
  verdict = "quorum" =>
    IF Quorum = "all" THEN decided.done = decided.of ELSE 2 * decided.done > decided.of

ActionHasItsReason ==
  \A v \in Versions : act[v].term > 0 =>
    \/ verdict = "quorum" \/ (verdict = "forced" /\ hurried)
    \/ verdict \in {"timeout", "impossible"} /\ (Policy = "proceed" \/ hurried)

BegunByTheLeader == begun \subseteq reigns

\* One success is accepted at most, and none of a term in which an action began before a later term's.
NoActionUnderTwoTerms ==
  /\ Cardinality(accepted) <= 1
  /\ \A a \in accepted : \A v \in Versions : act[v].term <= a[2]

EveryJobEnds == Created ~> (ended # "no" /\ closed /\ \A p \in Nodes : part[p].state # "queued")
=============================================================================
