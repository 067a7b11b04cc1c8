------------------------------- MODULE Lease -------------------------------
(* The life of jobs under leases, as the SQL functions move them.              *)
(*                                                                             *)
(* One action is one call of a SQL function: its locks make it one step.  Only *)
(* a cancel of a running job takes two, because a success does not wait for    *)
(* it.  A token, once issued, may be used at any later moment and any number   *)
(* of times: this covers words that come late, words said twice, and workers   *)
(* that were paused or cut off.  docs/protocol.md names the function behind    *)
(* each action.                                                                *)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Jobs,          \* the jobs that somebody may enqueue
  Claims,        \* how many claims can happen: tokens are 1 .. Claims
  MaxAttempts,   \* of every job
  GiveBacks,     \* how often each job may be snoozed or released
  Redrives,      \* how often each job may be revived
  Crashes,       \* how many claims may lose their worker for good
  Broken         \* "nothing", or the guard that is left out

VARIABLES
  known,         \* jobs that are there
  ready,         \* rows [job, version, counted]: claimable now
  scheduled,     \* rows [job, version, counted]: not before their time
  grants,        \* what each token was given: rows [job, version, counted]; never forgotten
  lease,         \* the lease row of each token: [open, overdue], or None
  attempts,      \* rows [job, version, outcome, ends, said]; said is the token that ended it
  ended,         \* jobs that ended outside an attempt
  requests,      \* running jobs that somebody asked to stop
  asking,        \* jobs whose row a cancel holds while it writes its request
  gaveBack, revived, crashed, since, seen, stolen, misused

vars == <<known, ready, scheduled, grants, lease, attempts, ended, requests, asking,
          gaveBack, revived, crashed, since, seen, stolen, misused>>
history == <<gaveBack, revived, crashed, since, seen, stolen, misused>>

Tokens == 1 .. Claims
Counted == {"succeeded", "failed", "crashed", "canceled"}
None == [open |-> 0, overdue |-> FALSE]
Row(j, v, c) == [job |-> j, version |-> v, counted |-> c]

Issued == {t \in Tokens : grants[t] # {}}
Written(g) == \E a \in attempts : a.job = g.job /\ a.version = g.version
Held(t) == IF lease[t] = None THEN {} ELSE grants[t]
Running(t) == {g \in Held(t) : ~Written(g)}
JobsOf(rows) == {r.job : r \in rows}
Over(j) == j \in ended \/ \E a \in attempts : a.job = j /\ a.ends # "no"
Max(S) == CHOOSE n \in S : \A m \in S : m <= n
LastVersion(j) == Max({0} \cup {a.version : a \in {b \in attempts : b.job = j}})

Init ==
  /\ known = {} /\ ready = {} /\ scheduled = {} /\ attempts = {} /\ ended = {} /\ requests = {} /\ asking = {}
  /\ grants = [t \in Tokens |-> {}]
  /\ lease = [t \in Tokens |-> None]
  /\ gaveBack = [j \in Jobs |-> 0] /\ revived = [j \in Jobs |-> 0] /\ since = [j \in Jobs |-> 0]
  /\ crashed = {} /\ seen = {} /\ stolen = FALSE /\ misused = FALSE

-----------------------------------------------------------------------------
(* Producers *)

Enqueue(j) ==
  /\ j \notin known
  /\ known' = known \cup {j}
  /\ \/ ready' = ready \cup {Row(j, 0, 0)} /\ UNCHANGED scheduled
     \/ scheduled' = scheduled \cup {Row(j, 0, 0)} /\ UNCHANGED ready
  /\ UNCHANGED <<grants, lease, attempts, ended, requests, asking, history>>

-----------------------------------------------------------------------------
(* Workers *)

Promote(j) ==
  \E r \in scheduled :
    /\ r.job = j /\ j \notin asking
    /\ scheduled' = scheduled \ {r} /\ ready' = ready \cup {r}
    /\ UNCHANGED <<known, grants, lease, attempts, ended, requests, asking, history>>

Claim ==
  \E S \in SUBSET ready \ {{}} :
    /\ Issued # Tokens
    /\ LET t == Cardinality(Issued) + 1
           given == {Row(r.job, r.version + 1, r.counted) : r \in S}
       IN /\ grants' = [grants EXCEPT ![t] = given]
          /\ lease' = [lease EXCEPT ![t] = [open |-> Cardinality(S), overdue |-> FALSE]]
    /\ ready' = IF Broken = "the claim leaves the row in line" THEN ready ELSE ready \ S
    /\ UNCHANGED <<known, scheduled, attempts, ended, requests, asking, history>>

\* The rows that a word counts for: those of the token's own lease, while their attempt is not written.
Heard(t, S) ==
  IF Broken = "no token check"
  THEN {g \in UNION {Running(u) : u \in Issued} : g.job \in S}
  ELSE IF Broken = "no attempt key" THEN {g \in Held(t) : g.job \in S}
  ELSE {g \in Running(t) : g.job \in S}

\* The leases whose rows lose jobs to a word.
Touched(t, H) == {t} \cup {u \in Issued : H \cap Held(u) # {}}

\* Count again what is open in these leases, and drop those that are done with.
Settled(T, now) ==
  [t \in Tokens |->
    IF t \notin T \/ lease[t] = None THEN lease[t]
    ELSE LET left == {g \in grants[t] : ~\E a \in now : a.job = g.job /\ a.version = g.version}
         IN IF left = {} THEN None ELSE [lease[t] EXCEPT !.open = Cardinality(left)]]

\* A success takes the lease only, so it may overtake a cancel.  Where every word counts, it counts down.
Complete(t, S) ==
  LET H == Heard(t, S)
      now == attempts \cup {[job |-> g.job, version |-> g.version, outcome |-> "succeeded",
                             ends |-> "succeeded", said |-> t] : g \in H}
  IN /\ t \notin crashed
     /\ S \subseteq JobsOf(grants[t]) /\ S # {}
     /\ attempts' = now
     /\ lease' = IF Cardinality(H) = Cardinality(S) /\ Broken \notin {"no token check", "no attempt key"}
                 THEN [lease EXCEPT ![t] = IF @.open = Cardinality(H) \/ Broken = "one success drops the lease" THEN None
                                           ELSE [@ EXCEPT !.open = @ - Cardinality(H)]]
                 ELSE Settled(Touched(t, H), now)
     /\ requests' = requests \ JobsOf(H)
     /\ UNCHANGED <<known, ready, scheduled, grants, ended, asking, history>>

\* A success in the handler's own transaction: the lease row stays as it is until somebody settles it.
Finish(t, j) ==
  LET H == Heard(t, {j})
  IN /\ t \notin crashed /\ j \in JobsOf(grants[t]) /\ H # {}
     /\ attempts' = attempts \cup {[job |-> g.job, version |-> g.version, outcome |-> "succeeded",
                                    ends |-> "succeeded", said |-> t] : g \in H}
     /\ UNCHANGED <<known, ready, scheduled, grants, lease, ended, requests, asking, history>>

\* Every other end of attempts.  `again` says which of the jobs that go on are claimable at once.
End(t, H, outcome, again) ==
  LET counts == outcome \in Counted
      adds(g) == IF counts /\ ~(Broken = "expiry does not count" /\ outcome = "crashed") THEN 1 ELSE 0
      ends(g) == IF outcome = "canceled" THEN "canceled"
                 ELSE IF g.job \in requests /\ Broken # "a retry beats a cancel" THEN "canceled"
                 ELSE IF counts /\ g.counted + adds(g) >= MaxAttempts THEN "dead" ELSE "no"
      now == attempts \cup {[job |-> g.job, version |-> g.version, outcome |-> outcome,
                             ends |-> ends(g), said |-> t] : g \in H}
      on == {g \in H : ends(g) = "no"}
      rows(G) == {Row(g.job, g.version, g.counted + adds(g)) : g \in G}
  IN /\ attempts' = now
     /\ lease' = Settled(Touched(t, H), now)
     /\ requests' = requests \ (JobsOf(H) \ JobsOf(on))
     /\ ready' = ready \cup rows({g \in on : g.job \in again})
     /\ scheduled' = scheduled \cup rows({g \in on : g.job \notin again})

Fail(t, j, outcome) ==
  /\ t \notin crashed /\ j \in JobsOf(grants[t]) \ asking
  /\ LET H == Heard(t, {j})
     IN H # {} /\ \E again \in {{}, {j}} : End(t, H, outcome, again)
  /\ UNCHANGED <<known, grants, ended, asking, history>>

GiveBack(t, j, outcome) ==
  /\ t \notin crashed /\ j \in JobsOf(grants[t]) \ asking /\ gaveBack[j] < GiveBacks
  /\ LET H == Heard(t, {j})
     IN H # {} /\ End(t, H, outcome, IF outcome = "released" THEN {j} ELSE {})
  /\ gaveBack' = [gaveBack EXCEPT ![j] = @ + 1]
  /\ UNCHANGED <<known, grants, ended, asking, revived, crashed, since, seen, stolen, misused>>

Renewal(t, u) ==
  /\ t \notin crashed /\ lease[u] # None /\ lease[u].overdue
  /\ lease' = [lease EXCEPT ![u] = [@ EXCEPT !.overdue = FALSE]]
  /\ misused' = (misused \/ t # u)
  /\ UNCHANGED <<known, ready, scheduled, grants, attempts, ended, requests, asking,
                 gaveBack, revived, crashed, since, seen, stolen>>

Renew(t) ==
  \E u \in Issued :
    /\ u = t \/ (Broken = "renewal without token" /\ JobsOf(grants[t]) \cap JobsOf(Running(u)) # {})
    /\ Renewal(t, u)

\* The worker behind a claim is gone: it says nothing more.  Where it only falls silent for a while, no step is needed.
Crash(t) ==
  /\ t \in Issued \ crashed /\ lease[t] # None /\ Cardinality(crashed) < Crashes
  /\ crashed' = crashed \cup {t}
  /\ UNCHANGED <<known, ready, scheduled, grants, lease, attempts, ended, requests, asking,
                 gaveBack, revived, since, seen, stolen, misused>>

-----------------------------------------------------------------------------
(* Time and recovery *)

TimePasses(t) ==
  /\ lease[t] # None /\ ~lease[t].overdue
  /\ lease' = [lease EXCEPT ![t] = [@ EXCEPT !.overdue = TRUE]]
  /\ UNCHANGED <<known, ready, scheduled, grants, attempts, ended, requests, asking, history>>

\* Only where expiry is broken: it looks first, and acts on what it saw.
Look(t) ==
  /\ Broken = "expiry ignores renewal" /\ lease[t] # None /\ lease[t].overdue
  /\ seen' = seen \cup {t}
  /\ UNCHANGED <<known, ready, scheduled, grants, lease, attempts, ended, requests, asking,
                 gaveBack, revived, crashed, since, stolen, misused>>

Expire(t) ==
  /\ Broken # "nobody expires"
  /\ lease[t] # None
  /\ IF Broken = "expiry ignores renewal" THEN t \in seen ELSE lease[t].overdue
  /\ LET H == {g \in Running(t) : g.job \notin asking}
     IN /\ H # {} \/ Running(t) = {}
        /\ End(t, H, "crashed", JobsOf(H))
        /\ stolen' = (stolen \/ (H # {} /\ ~lease[t].overdue))
  /\ UNCHANGED <<known, grants, ended, asking, gaveBack, revived, crashed, since, seen, misused>>

-----------------------------------------------------------------------------
(* Operators *)

CancelWaiting(j) ==
  \E r \in ready \cup scheduled :
    /\ r.job = j /\ j \notin asking
    /\ ready' = ready \ {r} /\ scheduled' = scheduled \ {r}
    /\ ended' = ended \cup {j}
    /\ UNCHANGED <<known, grants, lease, attempts, requests, asking, history>>

CancelRunning(j) ==
  /\ j \notin asking /\ \E t \in Issued : j \in JobsOf(Running(t))
  /\ asking' = asking \cup {j}
  /\ UNCHANGED <<known, ready, scheduled, grants, lease, attempts, ended, requests, history>>

AskToStop(j) ==
  /\ j \in asking
  /\ asking' = asking \ {j} /\ requests' = requests \cup {j}
  /\ UNCHANGED <<known, ready, scheduled, grants, lease, attempts, ended, history>>

Redrive(j) ==
  \E a \in attempts :
    /\ a.job = j /\ j \notin asking /\ revived[j] < Redrives
    /\ a.ends = "dead" \/ (Broken = "redrive of a success" /\ a.ends = "succeeded")
    /\ attempts' = (attempts \ {a}) \cup {[a EXCEPT !.ends = "no"]}
    /\ ready' = ready \cup {Row(j, a.version, 0)}
    /\ revived' = [revived EXCEPT ![j] = @ + 1]
    /\ since' = [since EXCEPT ![j] = a.version]
    /\ UNCHANGED <<known, scheduled, grants, lease, ended, requests, asking, gaveBack, crashed, seen, stolen, misused>>

-----------------------------------------------------------------------------

\* Sets that never change, so that TLC can name the action behind each step.
Next ==
  \/ Claim
  \/ \E j \in Jobs : Enqueue(j) \/ Promote(j) \/ CancelWaiting(j) \/ CancelRunning(j) \/ AskToStop(j) \/ Redrive(j)
  \/ \E t \in Tokens : Complete(t, JobsOf(grants[t])) \/ Renew(t) \/ Crash(t) \/ TimePasses(t) \/ Look(t) \/ Expire(t)
  \/ \E t \in Tokens, j \in Jobs : Complete(t, {j}) \/ Finish(t, j)
  \/ \E t \in Tokens, j \in Jobs, outcome \in {"failed", "canceled"} : Fail(t, j, outcome)
  \/ \E t \in Tokens, j \in Jobs, outcome \in {"snoozed", "released"} : GiveBack(t, j, outcome)

Spec == Init /\ [][Next]_vars

\* A worker that lives ends each attempt; time goes on; some worker claims, some reaper looks.  Expiry passes over
\* a job that somebody is canceling, so it must be fair in the strong sense: not everybody who looks meets a cancel.
Speaks(t) ==
  /\ Running(t) # {}
  /\ \/ Complete(t, JobsOf(grants[t]))
     \/ \E j \in Jobs :
          \/ Complete(t, {j}) \/ Finish(t, j) \/ Fail(t, j, "failed") \/ Fail(t, j, "canceled")
          \/ GiveBack(t, j, "snoozed") \/ GiveBack(t, j, "released")
Fairness ==
  /\ WF_vars(Claim)
  /\ \A j \in Jobs : WF_vars(Promote(j)) /\ WF_vars(AskToStop(j))
  /\ \A t \in Tokens : WF_vars(Speaks(t)) /\ WF_vars(TimePasses(t)) /\ SF_vars(Expire(t))

FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* What stays true *)

Places(j) ==
  Cardinality({r \in ready : r.job = j}) + Cardinality({r \in scheduled : r.job = j})
  + Cardinality({t \in Issued : \E g \in Running(t) : g.job = j})
  + (IF j \in ended THEN 1 ELSE 0)
  + Cardinality({a \in attempts : a.job = j /\ a.ends # "no"})

ExactlyOnePlace == \A j \in Jobs : Places(j) = IF j \in known THEN 1 ELSE 0

OneValidLease ==
  \A j \in Jobs : Cardinality({t \in Issued : \E g \in Running(t) : g.job = j}) <= 1

OneRecordPerAttempt == \A a, b \in attempts : a.job = b.job /\ a.version = b.version => a = b

\* An attempt is ended by the token that was given it, and by no other; the same holds for a renewal.
StaleTokenChangesNothing ==
  /\ \A a \in attempts : \E g \in grants[a.said] : g.job = a.job /\ g.version = a.version
  /\ ~misused

NoMoreThanMaxAttempts ==
  \A j \in Jobs : Cardinality({a \in attempts : a.job = j /\ a.outcome \in Counted /\ a.version > since[j]}) <= MaxAttempts

SucceededNeverRunsAgain ==
  \A a \in attempts : a.outcome = "succeeded" =>
    /\ a.job \notin JobsOf(ready \cup scheduled)
    /\ \A t \in Issued : \A g \in grants[t] : g.job = a.job => g.version <= a.version

\* Of two claims of one job, the later has the higher version.
VersionsRise ==
  \A u \in Issued : \A t \in 1 .. u - 1 : \A g \in grants[t], h \in grants[u] : g.job = h.job => g.version < h.version

OnlyAnOverdueLeaseIsTaken == ~stolen

\* A request to stop waits only for a running job, or lies behind a success that did not wait for it.
AskedToStopDoesNotGoOn ==
  \A j \in requests : \A r \in ready \cup scheduled : r.job # j

\* The row of a lease is there as long as a job runs under it: were it dropped, the job would be nowhere.
OpenIsNeverTooLow == \A t \in Issued : lease[t] = None \/ lease[t].open >= Cardinality(Running(t))

Safe ==
  /\ ExactlyOnePlace /\ OneValidLease /\ OneRecordPerAttempt /\ StaleTokenChangesNothing /\ NoMoreThanMaxAttempts
  /\ SucceededNeverRunsAgain /\ VersionsRise /\ OnlyAnOverdueLeaseIsTaken /\ AskedToStopDoesNotGoOn /\ OpenIsNeverTooLow

EveryJobEnds == \A j \in Jobs : (j \in known) ~> Over(j)
=============================================================================
