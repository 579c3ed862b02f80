---------------------------- MODULE ExactlyOnce ----------------------------
(***************************************************************************)
(* The exactly-once worker protocol of DESIGN.md 6.1, 7.1 and 7.2, for one *)
(* action and one partition p of its topics `action`, `resume`, `parked`   *)
(* and `outputs`.                                                          *)
(*                                                                         *)
(* Read it in this order: Broker (what Kafka does), Group (rebalances),    *)
(* Worker: restore, take, finish, commit, resolve; then World (crashes,    *)
(* tools, cancellations) and the properties at the end.                    *)
(*                                                                         *)
(* Every place where a rule of the design decides something asks           *)
(* Rule("name").  A rule whose name stands in Broken is not kept: that is  *)
(* how run.py shows what each rule is for.                                 *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Workers, None,   \* model values
    N,               \* request records in `action`, offsets 1..N, all there from the start
    Rounds,          \* tool rounds that a request may take at most
    Broken,          \* names of rules that are not kept ({} = the design as written)
    MaxRebalance,    \* rebalances for no reason (those after a crash or an eviction are free)
    MaxCrash,        \* worker deaths, at any moment
    MaxEvict,        \* live members thrown out of the group (paused, zombie): they find out late
    MaxTimeout,      \* open transactions that the coordinator aborts by its timeout
    MaxAbort,        \* transactions that the client has to abort (abortable error)
    MaxUnknown,      \* commit calls whose outcome the client never learns
    MaxCancel        \* cancellations that arrive in `resume`

VARIABLES
    plog,   \* `parked`, partition p: sequence of [r, n, st, by]; n in 1..Rounds: upsert of round n, 0: tombstone,
            \*    Mem: a cancellation that is remembered for a request that has not come yet;
            \*    st: open, com(mitted), abt (aborted), as the partition's own markers say
    res,    \* `resume`, partition p: sequence of [k: resp or cancel, r, n]
    out,    \* what a read_committed reader of `outputs` sees: number of terminals, of tool requests
    pr,     \* per worker and slot: the transactional.id as the transaction coordinator sees it
    pend,   \* offset commits accepted and not yet decided, in the order of arrival
    coff,   \* committed offsets of `action` and `resume` with map, stamp and number
    grp,    \* the group: generation, members, owner of p
    wk,     \* per worker process: what it has in memory
    bud,    \* how many faults of each kind are left
    gh      \* ghost flags, for the properties only

vars == <<plog, res, out, pr, pend, coff, grp, wk, bud, gh>>

Rule(x) == x \notin Broken
Reqs    == 1..N
Slots   == 0..1                            \* two producers in turn
Mem     == Rounds + 1                      \* an index entry that is no parked request but a remembered cancellation
Waiting(n) == n \in 1..Rounds              \* a parked request
MaxRes  == N * Rounds + MaxCancel
\* What a worker has in hand: request records, records of `resume`, sweeps.
Items   == ({"a"} \X Reqs) \cup ({"r"} \X (1..MaxRes)) \cup ({"s"} \X Reqs)
Offsets(kind, items) == {it[2] : it \in {x \in items : x[1] = kind}}
ReqOf(it) == IF it[1] = "r" THEN res[it[2]].r ELSE it[2]
\* The round that a result builds on (0: the request itself).
Base(it)  == IF it[1] = "r" THEN res[it[2]].n ELSE 0

----------------------------------------------------------------------------
(* Broker: partition `parked` and its readers                              *)

Decided(k) == \A j \in 1..k : plog[j].st # "open"
HighWatermark == Len(plog)
LastStable == CHOOSE k \in 0..Len(plog) : Decided(k) /\ (k = Len(plog) \/ plog[k + 1].st = "open")

\* The index after reading plog[from..to] on top of idx, with isolation.level=read_committed.
RECURSIVE Replay(_, _, _)
Replay(idx, from, to) ==
    IF from > to THEN idx
    ELSE Replay(IF plog[from].st = "com" THEN [idx EXCEPT ![plog[from].r] = plog[from].n] ELSE idx, from + 1, to)

NoEntries == [r \in Reqs |-> 0]

----------------------------------------------------------------------------
(* Broker: transactions.                                                   *)
(* pr[w][i]: st    none, open, C (commit decided, markers still to come)   *)
(*           fen   the client's producer epoch is no longer the current    *)
(*           sent  an EndTxn(commit) is on its way or has been served      *)
(*           late  an EndTxn(commit) that the client has repeated is still *)
(*                 on its way (a broker serves what it has read from a     *)
(*                 connection that is gone); dead with the producer epoch  *)
(*           outs  what the open transaction holds in `outputs` (there from *)
(*                 Begin on; the records of `parked` come by Deliver)      *)

FreshProducer == [st |-> "none", fen |-> FALSE, sent |-> FALSE, late |-> FALSE, outs |-> {}]
OpenRecs(t)  == {j \in 1..Len(plog) : plog[j].by = t}
PendOf(t)    == {j \in 1..Len(pend) : pend[j].by = t}
AbortedRec   == [r |-> 1, n |-> 0, st |-> "abt", by |-> <<>>]

\* All markers of an abort at once; T: transactions as <<worker, slot>>.
AbortLog(T)  == [j \in 1..Len(plog) |-> IF plog[j].by \in T THEN AbortedRec ELSE plog[j]]
AbortPend(T) == SelectSeq(pend, LAMBDA e : e.by \notin T)

\* The index as the transaction coordinator's decisions make it, markers written or not.
Truth == LET f[j \in 0..Len(plog)] ==
               IF j = 0 THEN NoEntries
               ELSE LET x == plog[j] IN
                    IF x.st = "com" \/ (x.st = "open" /\ pr[x.by[1]][x.by[2]].st = "C")
                    THEN [f[j - 1] EXCEPT ![x.r] = x.n] ELSE f[j - 1]
         IN f[Len(plog)]

\* The coordinator serves EndTxn(commit). Checked: the producer epoch. Not checked: the group.
EndTxn(w, i) ==
    LET p == pr[w][i]  t == <<w, i>>
        Count(k, r, n) == Cardinality({o \in p.outs : o.k = k /\ o.r = r /\ o.n = n})
        ends == {o.r : o \in {x \in p.outs : x.k \in {"term", "treq"}}}
    IN  /\ p.sent \/ p.late
        /\ p.st = "open"
        /\ pr' = [pr EXCEPT ![w][i].st = IF OpenRecs(t) = {} /\ PendOf(t) = {} THEN "none" ELSE "C",
                            ![w][i].late = p.late /\ p.sent,           \* the repetition may be served first
                            ![w][i].outs = {}]
        /\ out' = [term |-> [r \in Reqs |-> out.term[r] + Cardinality({o \in p.outs : o.k = "term" /\ o.r = r})],
                   treq |-> [r \in Reqs |-> [n \in 1..Rounds |-> out.treq[r][n] + Count("treq", r, n)]]]
        /\ gh' = [gh EXCEPT !.foreign = @ \/ (p.outs # {} /\ PendOf(t) = {}),
                            !.missed  = @ \/ \E o \in p.outs : o.k = "nobody" /\ o.r \notin ends /\ Truth[o.r] = o.n]
        /\ UNCHANGED <<plog, res, pend, coff, grp, wk, bud>>

\* Markers reach each partition on their own: first `parked`, or first the offsets.
MarkParked(w, i) ==
    LET t == <<w, i>> IN
    /\ pr[w][i].st = "C" /\ OpenRecs(t) # {}
    /\ plog' = [j \in 1..Len(plog) |-> IF plog[j].by = t THEN [plog[j] EXCEPT !.st = "com", !.by = <<>>] ELSE plog[j]]
    /\ pr' = [pr EXCEPT ![w][i].st = IF PendOf(t) = {} THEN "none" ELSE "C"]
    /\ UNCHANGED <<res, out, pend, coff, grp, wk, bud, gh>>

\* An offset commit that arrived later wins, whichever marker comes first.
MarkOffsets(w, i) ==
    LET t == <<w, i>> IN
    \E j \in PendOf(t) :
    /\ pr[w][i].st = "C"
    /\ coff' = IF pend[j].stale THEN coff
               ELSE [ac |-> pend[j].ac, rs |-> pend[j].rs, stamp |-> pend[j].stamp, num |-> pend[j].num]
    /\ pend' = [k \in 1..(Len(pend) - 1) |-> IF k < j THEN [pend[k] EXCEPT !.stale = TRUE] ELSE pend[k + 1]]
    /\ pr' = [pr EXCEPT ![w][i].st = IF OpenRecs(t) = {} THEN "none" ELSE "C"]
    /\ UNCHANGED <<plog, res, out, grp, wk, bud, gh>>

\* transaction.timeout.ms: abort, and a new producer epoch that the client does not have.
TxnTimeout(w, i) ==
    /\ bud.timeout > 0 /\ pr[w][i].st = "open"
    /\ bud' = [bud EXCEPT !.timeout = @ - 1]
    /\ plog' = AbortLog({<<w, i>>}) /\ pend' = AbortPend({<<w, i>>})
    /\ pr' = [pr EXCEPT ![w][i] = [FreshProducer EXCEPT !.fen = TRUE]]
    /\ UNCHANGED <<res, out, coff, grp, wk, gh>>

----------------------------------------------------------------------------
(* Worker: what it has in memory.                                          *)
(* ph    down, join (has left its epoch, waits for an assignment), idle    *)
(*       (member without p), res0..res2 (restore), mark (restored; its     *)
(*       first map is not committed yet), run, over (knows it is fenced)   *)
(* gen   the generation captured in on_assign; also this assignment's stamp*)
(* own   stamps of all assignments of this process                         *)
(* idx   the parked index: round an entry waits in, 0: no entry, Mem:      *)
(*       a cancellation is remembered                                      *)
(* cpos  highest parked offset that this process saw committed             *)
(* claim requests that something in hand works on                          *)
(* ac,rs completed offsets of `action` and `resume`, as known committed    *)
(* rpos,hand  `resume` consumer: position; records taken, not dispatched   *)
(* task  per item: no, run, or its result: park, term(inal), drop (another *)
(*       claim won), nobody (no entry waits for it), mem (remember this    *)
(*       cancellation), forget (its time is over: tombstone, no response)  *)
(* slot  per producer, the transaction in flight as the client sees it:    *)
(*       idle, prod(ucing), offs (offsets accepted), sent (commit called), *)
(*       unk (outcome unknown), chk (producers renewed, to be compared);   *)
(*       recs: its parked records that the broker does not have yet        *)

IdleSlot == [st |-> "idle", items |-> {}, ac |-> {}, rs |-> {}, num |-> 0, gen |-> 0, recs |-> <<>>, hi |-> 0]
NoMap    == [ac |-> {}, rs |-> {}, stamp |-> 0, num |-> 0]
NoTasks  == [it \in Items |-> "no"]
Memory   == [ph |-> "down", gen |-> 0, own |-> {}, idx |-> NoEntries, cpos |-> 0, claim |-> {}, ac |-> {}, rs |-> {},
             rpos |-> 0, hand |-> {}, task |-> NoTasks, slot |-> [i \in Slots |-> IdleSlot], turn |-> 0, num |-> 0,
             rc |-> NoMap, rh |-> 0, fin |-> {}]

Busy(v)     == {i \in Slots : v.slot[i].st # "idle"}
InFlight(v) == UNION {v.slot[i].items : i \in Slots}
Changes     == {"park", "term", "mem", "forget"}                 \* results that change the request's entry
Results(v)  == {it \in Items : v.task[it] \in Changes \cup {"drop", "nobody"}}
Touches(v, it, r)  == v.task[it] \in Changes /\ ReqOf(it) = r
Committing(v, r)   == \E it \in InFlight(v) : Touches(v, it, r)
Set(w, v) == wk' = [wk EXCEPT ![w] = v]

----------------------------------------------------------------------------
(* Group: classic protocol, assignor `range`: revoke all, then assign.     *)

\* Free when someone waits to get in or the owner is gone, else a fault.
RebalanceStart ==
    LET wanted == grp.own = None \/ \E w \in Workers : wk[w].ph = "join" /\ w \notin grp.mem IN
    /\ grp.st = "stable" /\ \E w \in Workers : wk[w].ph # "down"
    /\ wanted \/ bud.rebalance > 0
    /\ bud' = IF wanted THEN bud ELSE [bud EXCEPT !.rebalance = @ - 1]
    /\ grp' = [grp EXCEPT !.st = "prep"]
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, wk, gh>>

\* Who has not joined is thrown out. p goes to any member.
RebalanceComplete ==
    LET joined  == {w \in Workers : wk[w].ph = "join"}
        evicted == grp.mem \ joined
    IN  /\ grp.st = "prep" /\ joined # {} /\ Cardinality(evicted) <= bud.evict
        /\ bud' = [bud EXCEPT !.evict = @ - Cardinality(evicted)]
        /\ \E o \in joined : grp' = [gen |-> grp.gen + 1, st |-> "stable", mem |-> joined, own |-> o]
        /\ UNCHANGED <<plog, res, out, pr, pend, coff, wk, gh>>

\* on_revoke: stop taking; running handlers and results stay, sweeps go.
OnRevoke(w) ==
    LET v == wk[w]  sweeps == {it \in Items : it[1] = "s" /\ v.task[it] # "no"} IN
    /\ v.ph \notin {"down", "join"} /\ w \in grp.mem /\ grp.st = "prep" /\ v.gen = grp.gen
    /\ Rule("revoke waits") => Busy(v) = {}
    /\ Set(w, [v EXCEPT !.ph = "join", !.hand = {}, !.rc = NoMap, !.rh = 0,
                        !.task  = [it \in Items |-> IF it \in sweeps THEN "no" ELSE @[it]],
                        !.claim = @ \ {it[2] : it \in sweeps}])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

Forget(v) == [v EXCEPT !.task = NoTasks, !.claim = {}, !.fin = {}]

\* on_lost: cancel and forget at once.
OnLost(w) ==
    LET v == wk[w] IN
    /\ v.ph \notin {"down", "join"} /\ w \notin grp.mem
    /\ Rule("revoke waits") => Busy(v) = {}
    /\ Set(w, [(IF Rule("old results dropped") THEN Forget(v) ELSE v)
               EXCEPT !.ph = "join", !.hand = {}, !.rc = NoMap, !.rh = 0])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

\* on_assign: the epoch's metadata are captured here, and a new stamp drawn.
OnAssign(w) ==
    LET v == wk[w] IN
    /\ v.ph = "join" /\ w \in grp.mem /\ grp.st = "stable" /\ v.gen < grp.gen
    /\ Set(w, IF grp.own = w
              THEN [v EXCEPT !.ph = "res0", !.gen = grp.gen, !.rh = IF Rule("committed before watermark") THEN 0 ELSE HighWatermark]
              ELSE [(IF Rule("old results dropped") THEN Forget(v) ELSE v)
                    EXCEPT !.ph = "idle", !.gen = grp.gen, !.ac = {}, !.rs = {}, !.rpos = 0])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

----------------------------------------------------------------------------
(* Worker: restore (7.2)                                                   *)

\* (1) the committed offsets, once no transaction holds any pending
RestoreCommitted(w) ==
    LET v == wk[w] IN
    /\ v.ph = "res0" /\ (Rule("stable committed") => pend = <<>>)
    /\ Set(w, [v EXCEPT !.rc = coff, !.ph = IF Rule("committed before watermark") THEN "res1" ELSE "res2"])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

\* (2) the high watermark of `parked`
RestoreWatermark(w) ==
    LET v == wk[w] IN
    /\ v.ph = "res1"
    /\ Set(w, [v EXCEPT !.ph = "res2", !.rh = IF Rule("high watermark") THEN HighWatermark ELSE LastStable])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

\* (3) read up to it, on top of the cache that was kept; then adopt what may go on; (4) start both topics
RestoreStart(w) ==
    LET v    == wk[w]
        idx  == Replay(v.idx, v.cpos + 1, v.rh)
        Unfinished(it) == IF it[1] = "a" THEN it[2] \notin v.rc.ac ELSE it[2] \notin v.rc.rs
        Adopted(it) == /\ v.task[it] # "no" /\ it[1] # "s"
                       /\ Rule("adopt: what was cancelled") \/ v.task[it] # "drop"
                       /\ Rule("adopt: own stamp")    => v.rc.stamp \in v.own
                       /\ Rule("adopt: unfinished")   => Unfinished(it)
                       /\ Rule("adopt: same version") => idx[ReqOf(it)] = v.idx[ReqOf(it)]
        keep == {it \in Items : Adopted(it)}
    IN  /\ v.ph = "res2" /\ Decided(v.rh)
        /\ Set(w, [v EXCEPT !.ph = IF Rule("mark before dispatch") THEN "mark" ELSE "run",
                            !.idx = idx, !.cpos = IF v.rh > @ THEN v.rh ELSE @, !.own = @ \cup {v.gen},
                            !.ac = v.rc.ac, !.rs = v.rc.rs, !.rc = NoMap, !.rh = 0,
                            !.num = v.rc.num, !.hand = {},
                            !.rpos = IF Rule("resume reset") THEN 0 ELSE @,
                            !.task  = [it \in Items |-> IF it \in keep THEN @[it] ELSE "no"],
                            !.claim = {ReqOf(it) : it \in {x \in keep : v.task[x] \in {"run"} \cup Changes}},
                            !.fin   = @ \cap keep])
        /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

----------------------------------------------------------------------------
(* Worker: take and handle                                                 *)

Recomputed(v, it) == [gh EXCEPT !.recomputed = @ \/ it \in v.fin]

DispatchRequest(w, r) ==
    LET v == wk[w]  it == <<"a", r>> IN
    /\ v.ph = "run" /\ r \notin v.ac /\ v.task[it] = "no" /\ r \notin v.claim
    /\ Set(w, IF Waiting(v.idx[r]) THEN [v EXCEPT !.task[it] = "drop"]  \* same origin again
              ELSE IF v.idx[r] = Mem                                      \* it was cancelled before it came
              THEN [v EXCEPT !.task[it] = IF Rule("cancellation remembered") THEN "term" ELSE "run", !.claim = @ \cup {r}]
              ELSE [v EXCEPT !.task[it] = "run", !.claim = @ \cup {r}])
    /\ gh' = [Recomputed(v, it) EXCEPT !.ignored =
              @ \/ (Truth[r] = Mem /\ ~(v.idx[r] = Mem /\ Rule("cancellation remembered")))]
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud>>

\* The manually assigned consumer of `resume` hands over what it has not handed over yet.
TakeResume(w) ==
    LET v == wk[w]  new == {i \in (v.rpos + 1)..Len(res) : i \notin v.rs /\ v.task[<<"r", i>>] = "no"} IN
    /\ v.ph = "run" /\ v.rpos < Len(res)
    /\ Set(w, [v EXCEPT !.rpos = Len(res), !.hand = @ \cup new])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

\* A tool response. First claim wins; one that meets a committing entry waits for the outcome.
DispatchResponse(w, i) ==
    LET v == wk[w]  it == <<"r", i>>  r == res[i].r  waiting == v.idx[r] = res[i].n
        vv == [v EXCEPT !.hand = @ \ {i}]
    IN  /\ v.ph = "run" /\ i \in v.hand /\ res[i].k = "resp"
        /\ ~(waiting /\ Committing(v, r) /\ Rule("response waits"))
        /\ Set(w, IF ~waiting \/ Committing(v, r) THEN [vv EXCEPT !.task[it] = "nobody"]
                  ELSE IF r \in v.claim THEN [vv EXCEPT !.task[it] = "drop"]
                  ELSE [vv EXCEPT !.task[it] = "run", !.claim = @ \cup {r}])
        /\ gh' = Recomputed(v, it)
        /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud>>

\* A cancellation takes the claim from a running handler; it waits out a finished result and a committing entry.
\* Of a request that is not there it is remembered: it may still be queued (or have ended: the worker cannot know).
DispatchCancel(w, i) ==
    LET v == wk[w]  it == <<"r", i>>  r == res[i].r
        running == {x \in Items : v.task[x] = "run" /\ ReqOf(x) = r}
        vv == [v EXCEPT !.hand = @ \ {i}]
    IN  /\ v.ph = "run" /\ i \in v.hand /\ res[i].k = "cancel"
        /\ running # {} \/ r \notin v.claim
        /\ Set(w, IF running # {}
                  THEN [vv EXCEPT !.task = [x \in Items |-> IF x \in running THEN "drop"
                                            ELSE IF x = it THEN (IF Rule("cancel ends both at once") THEN "term" ELSE "run")
                                            ELSE @[x]]]
                  ELSE IF Waiting(v.idx[r]) THEN [vv EXCEPT !.task[it] = "term", !.claim = @ \cup {r}]
                  ELSE IF v.idx[r] = 0 THEN [vv EXCEPT !.task[it] = "mem", !.claim = @ \cup {r}]
                  ELSE [vv EXCEPT !.task[it] = "drop"])
        /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

\* The handler returns: it parks (and asks a tool) or answers. It may do so during a rebalance.
Finish(w, it) ==
    LET v == wk[w]  mayPark == Base(it) < Rounds /\ ~(it[1] = "r" /\ res[it[2]].k = "cancel") IN
    /\ v.ph # "down" /\ v.task[it] = "run"
    /\ \E result \in {"term"} \cup (IF mayPark THEN {"park"} ELSE {}) :
          Set(w, [v EXCEPT !.task[it] = result, !.fin = @ \cup {it}])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

\* The deadline of a parked entry, or of a remembered cancellation, has passed (at any time).
Sweep(w, r) ==
    LET v == wk[w] IN
    /\ v.ph = "run" /\ v.idx[r] > 0 /\ v.task[<<"s", r>>] = "no" /\ ~Committing(v, r)
    /\ Rule("sweep claims") => r \notin v.claim
    /\ Set(w, [v EXCEPT !.task[<<"s", r>>] = IF v.idx[r] = Mem THEN "forget" ELSE "term", !.claim = @ \cup {r}])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

----------------------------------------------------------------------------
(* Worker: the committer (6.1)                                             *)

\* begin: everything that completed since the last transaction; its records go to the producer's queue
Begin(w) ==
    LET v     == wk[w]
        i     == v.turn
        items == IF v.ph = "mark" THEN {} ELSE Results(v) \ InFlight(v)
        ended == {r \in Reqs : \E it \in items : v.task[it] \in {"term", "forget"} /\ ReqOf(it) = r}
        mems  == {r \in Reqs : \E it \in items : v.task[it] = "mem" /\ ReqOf(it) = r}
        parks == {it \in items : v.task[it] = "park"}
        Rec(r) == IF r \in ended THEN (IF v.idx[r] > 0 THEN <<[r |-> r, n |-> 0, st |-> "open", by |-> <<w, i>>]>> ELSE <<>>)
                  ELSE IF \E it \in parks : ReqOf(it) = r
                       THEN <<[r |-> r, n |-> 1 + Base(CHOOSE it \in parks : ReqOf(it) = r), st |-> "open", by |-> <<w, i>>]>>
                       ELSE IF r \in mems THEN <<[r |-> r, n |-> Mem, st |-> "open", by |-> <<w, i>>]>>
                       ELSE <<>>
        recs[r \in 0..N] == IF r = 0 THEN <<>> ELSE recs[r - 1] \o Rec(r)
        outs == {[k |-> CASE v.task[it] = "park" -> "treq" [] v.task[it] = "nobody" -> "nobody" [] OTHER -> "term",
                  r |-> ReqOf(it), n |-> IF v.task[it] = "park" THEN Base(it) + 1 ELSE Base(it), by |-> it]
                 : it \in {x \in items : v.task[x] \notin {"drop", "mem", "forget"}}}
        all  == items \cup InFlight(v)
    IN  /\ \/ v.ph = "mark" /\ Busy(v) = {}
           \/ v.ph = "run" /\ items # {}
           \/ v.ph = "idle" /\ items # {} /\ ~Rule("old results dropped")
        /\ v.slot[i].st = "idle"
        /\ pr[w][i].st = "none" /\ ~pr[w][i].fen               \* else CONCURRENT_TRANSACTIONS, or fenced
        /\ Rule("new epoch after a repeated call") => ~pr[w][i].late
        /\ Rule("resolve, then go on") => v.slot[1 - i].st \notin {"unk", "chk"}
        /\ pr' = [pr EXCEPT ![w][i] = [@ EXCEPT !.st = "open", !.sent = FALSE, !.outs = outs]]
        /\ Set(w, [v EXCEPT
              !.num = @ + 1, !.turn = 1 - @,
              !.slot[i] = [st |-> "prod", items |-> items, ac |-> v.ac \cup Offsets("a", all), rs |-> v.rs \cup Offsets("r", all),
                           num |-> v.num + 1, gen |-> IF v.ph = "idle" THEN 0 ELSE v.gen, recs |-> recs[N], hi |-> 0],
              !.idx = IF Rule("index before produce")
                      THEN [r \in Reqs |-> IF \E it \in parks : ReqOf(it) = r THEN 1 + Base(CHOOSE it \in parks : ReqOf(it) = r) ELSE @[r]]
                      ELSE @])
        /\ UNCHANGED <<plog, res, out, pend, coff, grp, bud, gh>>

\* The records reach the broker and are acknowledged; those of the transaction before come first.
Deliver(w, i) ==
    LET v == wk[w]  s == v.slot[i]  q == v.slot[1 - i] IN
    /\ s.st \in {"prod", "offs"} /\ s.recs # <<>> /\ ~pr[w][i].fen
    /\ Rule("acknowledged in order") => (q.recs = <<>> \/ q.num > s.num)
    /\ plog' = plog \o s.recs
    /\ Set(w, [v EXCEPT !.slot[i].recs = <<>>, !.slot[i].hi = Len(plog) + Len(s.recs)])
    /\ UNCHANGED <<res, out, pr, pend, coff, grp, bud, gh>>

\* The client knows that slot i is committed: map, index and claims follow.
Committed(v, i) ==
    LET s == v.slot[i]
        Has(r, result) == \E it \in s.items : v.task[it] = result /\ ReqOf(it) = r
        Parked(r) == 1 + Base(CHOOSE it \in s.items : v.task[it] = "park" /\ ReqOf(it) = r)
        Ended(r)  == Has(r, "term") \/ Has(r, "forget")
    IN  IF s.gen # v.gen THEN [v EXCEPT !.slot[i] = IdleSlot]           \* of an older epoch
        ELSE [v EXCEPT !.slot[i] = IdleSlot, !.ac = @ \cup Offsets("a", s.items), !.rs = @ \cup Offsets("r", s.items),
                       !.task = [it \in Items |-> IF it \in s.items THEN "no" ELSE @[it]],
                       !.fin = @ \ s.items,
                       !.idx = [r \in Reqs |-> IF Ended(r) THEN 0 ELSE IF Has(r, "park") THEN Parked(r) ELSE IF Has(r, "mem") THEN Mem ELSE @[r]],
                       !.claim = @ \ {r \in Reqs : Ended(r) \/ Has(r, "park") \/ Has(r, "mem")},
                       !.cpos = IF s.hi > @ THEN s.hi ELSE @,
                       !.ph = IF @ = "mark" THEN "run" ELSE @]

\* The client knows that slot i is aborted: upserts leave the index; results and their claims are kept.
Returned(v, i) ==
    LET s == v.slot[i]
        parks == {it \in s.items : v.task[it] = "park"}
        held  == {ReqOf(it) : it \in {x \in s.items : v.task[x] \in Changes}}
    IN  IF s.gen # v.gen THEN [v EXCEPT !.slot[i] = IdleSlot]
        ELSE [v EXCEPT !.slot[i] = IdleSlot,
                       !.idx = IF Rule("withdraw on abort")
                               THEN [r \in Reqs |-> IF \E it \in parks : ReqOf(it) = r THEN Base(CHOOSE it \in parks : ReqOf(it) = r) ELSE @[r]]
                               ELSE @,
                       !.task  = IF Rule("results kept") THEN @ ELSE [it \in Items |-> IF it \in s.items THEN "no" ELSE @[it]],
                       !.hand  = IF Rule("results kept") THEN @ ELSE @ \cup Offsets("r", s.items),
                       !.claim = IF Rule("claim outlives abort") /\ Rule("results kept") THEN @ ELSE @ \ held]

Later(v, i) == {j \in Slots \ {i} : v.slot[j].st \in {"prod", "offs"} /\ v.slot[j].num > v.slot[i].num}
Chain(v, i) == {i} \cup (IF Rule("abort in chain") THEN Later(v, i) ELSE {})
ReturnedAll(v, S) == LET a == IF 0 \in S THEN Returned(v, 0) ELSE v IN IF 1 \in S THEN Returned(a, 1) ELSE a

\* send_offsets_to_transaction, once the outcome of the transaction before is known. The group coordinator checks
\* member and generation, not who owns p.
SendOffsets(w, i) ==
    LET v == wk[w]  s == v.slot[i]  q == v.slot[1 - i]
        bare   == ~Rule("offsets in every transaction") /\ s.items # {} /\ \A it \in s.items : it[1] = "s"
        member == w \in grp.mem /\ (s.gen = grp.gen \/ ~Rule("metadata of its epoch"))
    IN  /\ s.st = "prod" /\ ~pr[w][i].fen
        /\ Rule("offsets after outcome") => (q.st = "idle" \/ q.num > s.num)
        /\ IF bare \/ member
           THEN /\ pend' = IF bare THEN pend
                           ELSE Append(pend, [by |-> <<w, i>>, ac |-> s.ac, rs |-> s.rs, stamp |-> s.gen, num |-> s.num, stale |-> FALSE])
                /\ Set(w, [v EXCEPT !.slot[i].st = "offs"])
                /\ pr' = pr
                /\ gh' = [gh EXCEPT !.foreign = @ \/ (~bare /\ grp.own # w)]
                /\ plog' = plog
           ELSE /\ plog' = AbortLog({<<w, i>>}) /\ pend' = AbortPend({<<w, i>>})        \* fenced: abort, wait for on_lost
                /\ pr' = [pr EXCEPT ![w][i] = [FreshProducer EXCEPT !.late = pr[w][i].late]]
                /\ Set(w, [(IF s.gen = 0 THEN Forget(Returned(v, i)) ELSE Returned(v, i)) EXCEPT !.ph = IF s.gen = v.gen /\ @ # "join" THEN "over" ELSE @])
                /\ gh' = gh
        /\ UNCHANGED <<res, out, coff, grp, bud>>

\* commit_transaction is called (it flushes first): EndTxn is on its way.
CallCommit(w, i) ==
    LET v == wk[w] IN
    /\ v.slot[i].st = "offs" /\ v.slot[i].recs = <<>> /\ ~pr[w][i].fen
    /\ pr' = [pr EXCEPT ![w][i].sent = TRUE]
    /\ Set(w, [v EXCEPT !.slot[i].st = "sent"])
    /\ UNCHANGED <<plog, res, out, pend, coff, grp, bud, gh>>

\* commit_transaction returns.
LearnCommitted(w, i) ==
    LET v == wk[w] IN
    /\ v.slot[i].st = "sent" /\ pr[w][i].sent /\ pr[w][i].st # "open"
    /\ Set(w, Committed(v, i))
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

\* An abortable error before the commit is called; a later transaction that is open aborts too.
ClientAbort(w, i) ==
    LET v == wk[w]  S == Chain(v, i)  T == {<<w, j>> : j \in S} IN
    /\ bud.abort > 0 /\ v.slot[i].st \in {"prod", "offs"} /\ pr[w][i].st = "open"
    /\ \A j \in S : ~pr[w][j].fen
    /\ bud' = [bud EXCEPT !.abort = @ - 1]
    /\ plog' = AbortLog(T) /\ pend' = AbortPend(T)
    /\ pr' = [pr EXCEPT ![w] = [j \in Slots |-> IF j \in S THEN [FreshProducer EXCEPT !.late = pr[w][j].late] ELSE @[j]]]
    /\ Set(w, ReturnedAll(v, S))
    /\ UNCHANGED <<res, out, coff, grp, gh>>

\* The commit call never tells (a fatal error, the broker was away). EndTxn may still be on its way.
GiveUp(w, i) ==
    LET v == wk[w] IN
    /\ bud.unknown > 0 /\ v.slot[i].st = "sent"
    /\ bud' = [bud EXCEPT !.unknown = @ - 1]
    /\ Set(w, [v EXCEPT !.slot[i].st = "unk"])
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, gh>>

\* commit_transaction timed out and is called again: EndTxn goes out twice.
RepeatCommit(w, i) ==
    LET v == wk[w] IN
    /\ bud.unknown > 0 /\ v.slot[i].st = "sent" /\ pr[w][i].sent /\ pr[w][i].st = "open" /\ ~pr[w][i].late
    /\ bud' = [bud EXCEPT !.unknown = @ - 1]
    /\ pr' = [pr EXCEPT ![w][i].late = TRUE]
    /\ UNCHANGED <<plog, res, out, pend, coff, grp, wk, gh>>

\* A producer that repeated a call gets a new epoch before its next transaction (the client knows that it did).
NewEpoch(w, i) ==
    /\ Rule("new epoch after a repeated call")
    /\ wk[w].ph # "down" /\ wk[w].slot[i].st = "idle" /\ pr[w][i].late /\ pr[w][i].st = "none"
    /\ pr' = [pr EXCEPT ![w][i] = FreshProducer]
    /\ UNCHANGED <<plog, res, out, pend, coff, grp, wk, bud, gh>>

\* Fatal, fenced included: all producers anew in the process. init_transactions aborts what is open, waits for markers.
Renew(w) ==
    LET v == wk[w]
        lost == {i \in Slots : v.slot[i].st \in {"sent", "unk"}}      \* outcome to be compared
        T    == {<<w, i>> : i \in Slots}
        vv   == ReturnedAll(v, {i \in Slots : v.slot[i].st \in {"prod", "offs"}})
    IN  /\ v.ph # "down"
        /\ \E i \in Slots : v.slot[i].st = "unk" \/ (v.slot[i].st \in {"prod", "offs", "sent"} /\ pr[w][i].fen)
        /\ \A i \in Slots : pr[w][i].st # "C"
        /\ plog' = AbortLog(T) /\ pend' = AbortPend(T)
        /\ pr' = [pr EXCEPT ![w] = [i \in Slots |-> FreshProducer]]
        /\ Set(w, [vv EXCEPT !.slot = [i \in Slots |-> IF i \in lost THEN [@[i] EXCEPT !.st = "chk"] ELSE @[i]]])
        /\ UNCHANGED <<res, out, coff, grp, bud, gh>>

\* Compare the broker's stamp and number with what was sent: equal means done, else the results are produced again.
Resolve(w, i) ==
    LET v == wk[w]  s == v.slot[i]
        equal == /\ Rule("compare stamp")  => coff.stamp = s.gen
                 /\ Rule("compare number") => coff.num = s.num
                 /\ Rule("compare number") \/ (coff.ac = s.ac /\ coff.rs = s.rs)
    IN  /\ s.st = "chk" /\ pend = <<>>
        /\ Set(w, IF equal THEN Committed(v, i) ELSE Returned(v, i))
        /\ UNCHANGED <<plog, res, out, pr, pend, coff, grp, bud, gh>>

----------------------------------------------------------------------------
(* World                                                                   *)

\* Whatever was sent stays on its way; the group notices (session timeout).
Crash(w) ==
    /\ bud.crash > 0 /\ wk[w].ph # "down"
    /\ bud' = [bud EXCEPT !.crash = @ - 1]
    /\ Set(w, Memory)
    /\ grp' = [grp EXCEPT !.mem = @ \ {w}, !.own = IF @ = w THEN None ELSE @]
    /\ UNCHANGED <<plog, res, out, pr, pend, coff, gh>>

\* Same transactional.ids: init_transactions ends what the dead process left open.
Restart(w) ==
    LET T == {<<w, i>> : i \in Slots} IN
    /\ wk[w].ph = "down" /\ \A i \in Slots : pr[w][i].st # "C"
    /\ plog' = AbortLog(T) /\ pend' = AbortPend(T)
    /\ pr' = [pr EXCEPT ![w] = [i \in Slots |-> FreshProducer]]
    /\ Set(w, [Memory EXCEPT !.ph = "join"])
    /\ UNCHANGED <<res, out, coff, grp, bud, gh>>

\* A tool worker read a committed tool request; its response comes to `resume`, once, at any time.
ToolResponds(r, n) ==
    /\ out.treq[r][n] > 0 /\ \A j \in 1..Len(res) : ~(res[j].k = "resp" /\ res[j].r = r /\ res[j].n = n)
    /\ res' = Append(res, [k |-> "resp", r |-> r, n |-> n])
    /\ UNCHANGED <<plog, out, pr, pend, coff, grp, wk, bud, gh>>

CancelArrives(r) ==
    /\ bud.cancel > 0
    /\ bud' = [bud EXCEPT !.cancel = @ - 1]
    /\ res' = Append(res, [k |-> "cancel", r |-> r, n |-> 0])
    /\ UNCHANGED <<plog, out, pr, pend, coff, grp, wk, gh>>

----------------------------------------------------------------------------

Init ==
    /\ plog = <<>> /\ res = <<>> /\ pend = <<>> /\ coff = NoMap
    /\ out = [term |-> [r \in Reqs |-> 0], treq |-> [r \in Reqs |-> [n \in 1..Rounds |-> 0]]]
    /\ pr = [w \in Workers |-> [i \in Slots |-> FreshProducer]]
    /\ grp = [gen |-> 0, st |-> "prep", mem |-> {}, own |-> None]
    /\ wk = [w \in Workers |-> [Memory EXCEPT !.ph = "join"]]
    /\ bud = [rebalance |-> MaxRebalance, crash |-> MaxCrash, evict |-> MaxEvict, timeout |-> MaxTimeout,
              abort |-> MaxAbort, unknown |-> MaxUnknown, cancel |-> MaxCancel]
    /\ gh = [foreign |-> FALSE, missed |-> FALSE, recomputed |-> FALSE, ignored |-> FALSE]

WorkerStep(w) ==
    \/ OnRevoke(w) \/ OnLost(w) \/ OnAssign(w)
    \/ RestoreCommitted(w) \/ RestoreWatermark(w) \/ RestoreStart(w)
    \/ TakeResume(w)
    \/ \E r \in Reqs : DispatchRequest(w, r) \/ Sweep(w, r)
    \/ \E i \in 1..Len(res) : DispatchResponse(w, i) \/ DispatchCancel(w, i)
    \/ \E it \in Items : Finish(w, it)
    \/ Begin(w) \/ Renew(w)
    \/ \E i \in Slots : Deliver(w, i) \/ SendOffsets(w, i) \/ CallCommit(w, i) \/ LearnCommitted(w, i) \/ Resolve(w, i) \/ NewEpoch(w, i)
    \/ Restart(w)

BrokerStep(w) == \E i \in Slots : EndTxn(w, i) \/ MarkParked(w, i) \/ MarkOffsets(w, i)

Progress == \/ RebalanceComplete \/ (grp.own = None /\ RebalanceStart)
            \/ \E w \in Workers : WorkerStep(w) \/ BrokerStep(w)

Faults == \/ RebalanceStart
          \/ \E w \in Workers : Crash(w) \/ \E i \in Slots : TxnTimeout(w, i) \/ ClientAbort(w, i)
                                                               \/ GiveUp(w, i) \/ RepeatCommit(w, i)
          \/ \E r \in Reqs : CancelArrives(r) \/ \E n \in 1..Rounds : ToolResponds(r, n)

Next == Progress \/ Faults
Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Workers)

----------------------------------------------------------------------------
(* Properties                                                              *)

\* One end per request.
OneTerminal == \A r \in Reqs : out.term[r] <= 1
\* One tool request per round: a park is committed once.
OneToolRequest == \A r \in Reqs : \A n \in 1..Rounds : out.treq[r][n] <= 1
\* After the end nothing is parked.
\* (a cancellation that came after the end is remembered until its time is over)
NothingAfterTheEnd == \A r \in Reqs : out.term[r] > 0 => ~Waiting(Truth[r])
\* Nothing becomes visible that was not committed as the owner of p, under the owner's generation.
NoForeignOutput == ~gh.foreign
\* No response for which a parked entry waits is thrown away as nobody's.
NoMissedResponse == ~gh.missed
\* A result that a process has is not computed again while it keeps the partition.
NotRecomputed == ~gh.recomputed
\* A request is not run once its cancellation is committed.
CancelHonoured == ~gh.ignored
\* Offsets never claim what has no visible effect: a completed request has ended or is parked.
NothingLost == \A r \in coff.ac : out.term[r] > 0 \/ Waiting(Truth[r])

\* At rest everything has come to its end; and as long as it has not, something goes on (no faults needed).
AtRest == /\ \A r \in Reqs : out.term[r] = 1 /\ Truth[r] = 0
          /\ coff.ac = Reqs /\ coff.rs = 1..Len(res)
Obvious  == \E w \in Workers :                \* implies ENABLED Progress; only saves time
               \/ \E i \in Slots : pr[w][i].st = "C" \/ (pr[w][i].st = "open" /\ pr[w][i].sent)
               \/ \E it \in Items : wk[w].task[it] = "run"
               \/ wk[w].ph = "down" /\ \A i \in Slots : pr[w][i].st # "C"
NoStandstill == AtRest \/ Obvious \/ ENABLED Progress
=============================================================================
